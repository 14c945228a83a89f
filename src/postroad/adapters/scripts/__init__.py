"""Scripts of bindings, in Starlark, in confined processes, used through ``scripts.StarlarkScripts``.

Terms: a *script* defines a function ``route`` that takes the *message* and returns what to do with it. The server
decodes a message's bytes to text and its header to plain values, and evaluates many scripts about it in one *batch*
(``frames``). In the process, the *engine* builds the message once, XML as a tree, and calls each script with it;
``language`` contains the part of Starlark that scripts get. Pool, confinement and penalties are those of
``adapters.confined``.
"""
