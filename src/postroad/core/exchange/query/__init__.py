"""Parser for the supported subset of XQuery: ``parser`` builds the tree defined in ``syntax``.

Rule: nothing is guessed. What is not understood becomes ``Unknown`` where its extent is certain, and otherwise makes the
whole query ``Unreadable`` here, which leaves it to the engine.
"""
