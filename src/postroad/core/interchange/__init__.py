"""Interchanges: many business documents in one stream, and back.

    split        bytes → Split: the members of an interchange, as views into the received bytes, and all errors
    assemble     members → the pieces of one stream, in order, with counts and control numbers right
    acknowledge  Split → the acknowledgments for the partner (997, 999, TA1, CONTRL, ACK)
    read_answers Split → the partner's acknowledgments, to be matched to sent documents

Each standard has a separate package: ``x12``, ``edifact``, ``hl7``, ``swift``, ``xml_wrapper``, ``flat`` and ``json_lines``.

Rules: only elements that the envelope needs are read. Times and control numbers are arguments, so the same batch gives the
same bytes. Bytes are viewed rather than copied. Only ``Refused`` is raised.
"""
