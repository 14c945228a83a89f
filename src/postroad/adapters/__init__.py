"""The parts of a network that touch disks, databases, networks and processes; each implements a port.

- ``confined``: worker processes without file or network access, with memory and time limits
- ``desk``: keys, queue heads and leases in memory, or in PostgreSQL
- ``followers``: how far each follower (traces, notifications) has read the journal
- ``index``: SQLite or PostgreSQL; the process that updates the embedded index
- ``journal``: segment files, or a PostgreSQL table; ``backup`` copies and restores both
- ``large_bodies``: decodes large bodies in confined processes
- ``mail``: sends e-mail by SMTP
- ``marts``: reads the warehouse's finished tables as files, for reports and bills
- ``memory``: a journal and an index without files, for tests and the tutorial
- ``nodes``: the nodes of a network, and the network level that each of them can read
- ``notifications``: what notifications remember: a file, or a row in PostgreSQL
- ``saxon``: XSLT and XQuery in confined processes
- ``scripts``: Starlark scripts of bindings in confined processes
- ``secret_store``: sealed secrets in a SQLite file beside the journal, or in PostgreSQL tables
- ``tracing``: the trace follower in a process of its own
- ``transport``: pushes: address checks, connections, bounded responses
- ``validation``: XML Schema, DTD and JSON Schema in confined processes
"""
