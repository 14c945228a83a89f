"""Scripts of bindings, in Starlark, in processes that can be killed and reach nothing: ``scripts.StarlarkScripts`` is the door.

Words: a *script* defines a function ``route`` that is given the *message* and returns what becomes of it. The server turns a
message's bytes into text (``content``) and its header into plain values (``headers``), and asks many scripts about it in one
*batch* (``frames``). In the process, ``worker_main`` lets the *engine* make the message once, of XML as a tree
(``elements``), and call each script with it; ``language`` has what of Starlark a script gets, and ``complaints`` makes its faults
readable. Pool, confinement and penalties are those of ``adapters.confined``.
"""
