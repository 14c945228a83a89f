"""Runs members' programs in worker processes without file or network access, with memory and time limits.

    WorkerPool       calls, one at a time in each worker (``worker``); a lost worker costs only its own call
    SourceEvaluator  many queries or scripts about one message in one round trip, and which one of a batch is to blame
    PenaltyBox       refuses a source for a while after it has killed several workers
    confinement      what a worker does to itself before it reads anything
    worker_main      the worker's main function: reads *calls*, has the engine answer them, and writes *outcomes*
    pipes            the worker's pipes to the server

The users of this package choose the engine: ``saxon``, ``scripts``, ``validation`` and ``large_bodies`` each have a module
with a function ``load_engine``.
"""
