"""Bulk operations: whole archives of messages through the network's own decisions, on Spark, without a server.

    read          archives and journals: pieces, archived messages, logged posts, directories
    operation     the interface of an operation: one kind of work on messages, and the columns of its rows
    routing       the operation that finds routes, as the server does when a message is posted
    translation   the operation that translates messages to another format
    match         the operation that asks the bindings of an exchange
    batch         the operation that assembles interchanges by a send port's policy
    job           an operation on Spark: pieces divided among workers; ``wire_frames``: on a table or stream of wires
    output        Parquet files and JSON lines

Rule: an operation calls the same functions of ``core`` as the server, so a message under the same directory gives the
same result. A message that cannot be processed is a row with its error, never an exception.
"""
