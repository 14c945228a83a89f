"""The bulk lane: whole archives of messages through the network's own decisions, on Spark, without a server.

    journals   journals to read: folders, databases
    archive    which files there are, cut into *pieces* that can be read on their own
    reading    piece → archived messages, one module for each kind of archive
    lane       what a *lane* promises: one kind of work on messages, and the columns it answers with
    routing    the lane that finds routes, as the server does when a message is posted
    translating, matching   the lanes that put messages into another format, and ask the bindings of an exchange about them
    gathering  the lane that reads what a send port's policy wants to know; ``batching`` goes on with it: batches, interchanges
    job        the lane on Spark: pieces dealt out to workers; ``frames``: over a table or stream of wires; ``output``: Parquet

Kept rule: a lane calls the same functions of ``core`` as the server, so the same message under the same directory gives the same
result; and a message that cannot be handled is a row with its fault, never an exception.
"""
