"""Runs members' programs in worker processes without file or network access, with memory and time limits.

    WorkerPool       calls, one at a time in each worker (``worker``); a lost worker costs only its own call
    SourceEvaluator  many queries or scripts about one message in one round trip, and which one of a batch is to blame
    PenaltyBox       refuses a source for a while after it has killed several workers
    confinement      what a worker does to itself before it reads anything
    ServerPipe       the pipes to the server, as the worker has them

The users of this package choose the engine: ``saxon``, ``scripts`` and ``validation`` each have a ``worker_main``,
which reads *calls*, runs the engine, and writes *outcomes*.
"""
