"""Scripts of bindings, in Starlark, in confined processes, used through ``scripts.StarlarkScripts``.

Terms: a *script* defines a function ``route`` that takes the *message* and returns what to do with it. The server
decodes a message's bytes to text (``content``) and its header to plain values (``headers``), and evaluates many
scripts about it in one *batch* (``frames``). In the process, ``worker_main`` lets the *engine* build the message
once, XML as a tree (``elements``), and call each script with it; ``language`` contains the part of Starlark that
scripts get, and ``complaints`` makes their errors readable. Pool, confinement and penalties are those of
``adapters.confined``.
"""
