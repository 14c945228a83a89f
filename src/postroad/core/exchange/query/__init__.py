"""Parser for the supported subset of XQuery: ``parser`` builds the tree defined in ``syntax``.

Rule: nothing is guessed. An unsupported part becomes ``Unknown`` where its extent is certain, and otherwise makes the
whole query an ``UnreadableQuery``, which leaves it to the engine.
"""
