"""Runs members' programs in worker processes without file or network access, with memory and time limits.

    WorkerPool     calls, one at a time in each worker (``worker``); a worker lost costs its own call alone
    Asking         many queries or scripts about one message in one round trip, and which one of a batch is to blame
    PenaltyBox     who has cost workers their lives waits before being asked again
    confinement    what a worker does to itself before it reads anything
    ServersLine    the pipes to the server, as the worker has them

Which engine runs in the processes is their users' business: ``saxon``, ``scripts`` and ``validation`` each bring a
``worker_main``, which reads *calls*, lets the engine do them, and writes *outcomes*.
"""
