"""Interchanges: many business documents in one stream, and back.

    split        bytes → Split: the members of an interchange, as views into the bytes that came, and everything wrong with it
    assemble     members → the pieces of one stream, in order, with counts and control numbers right
    acknowledge  Split → what the partner is told (997, 999, TA1, CONTRL, ACK)
    answers      Split → what the partner tells us; matched: to what we sent

Each standard has a room of its own: ``x12``, ``edifact``, ``hl7``, ``swift``, ``xml_wrapper``, ``flat`` and ``json_lines``.

Rules: no element of a document is read that the envelope does not need; times and control numbers are given, so the same
batch gives the same bytes; nothing is copied that can be looked at; only ``Refused`` is raised.
"""
