"""Mediation: delivers every message in the format that its recipient has chosen.

    Wire ──detect──▶ DetectedFormat ──decode──▶ DecodedMessage (header, parts, wrapper) … journal …
    … OutgoingMessage ──encode──▶ EncodedMessage (headers, bytes, what was dropped)

``format_detection`` finds a wire's format by its bytes; each ``*_format`` module decodes and encodes one format, and
``formats`` is the table of them. Between them is the network's own message: parts with ids, types, exact bytes.

Rules: the same format and parts give the same bytes (``wrapper``). Everything that a format cannot carry is reported in
``EncodedMessage.dropped`` (``conversion_losses``). Boundaries and the like come from a seed, so that a delivery has the
same bytes each time.
"""
