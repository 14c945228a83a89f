"""Queries as people write them: the part of XQuery that is understood here, as a tree (``syntax``), read by ``parser``.

Kept rule: nothing is guessed. What is not understood becomes ``Unknown`` where its extent is certain, and otherwise makes the
whole query ``Unreadable`` here, which leaves it to the engine.
"""
