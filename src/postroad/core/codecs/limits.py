"""Limits on the size and complexity of a message, checked by every codec.

The defaults hold for the message endpoints; an operator may change them. Everything is counted while reading, so
that a hostile message costs no more than an honest one of the same size.
"""

from __future__ import annotations

from dataclasses import dataclass

NAME_CHARS = 128  # of the name of a property or an argument; part of the format, so no operator changes it


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    body_bytes: int = 10 << 20
    xml_depth: int = 256  # of a whole envelope, and of an inline document counted from its root
    xml_elements: int = 200_000
    xml_attributes: int = 256  # of one element, namespace declarations included
    json_depth: int = 64
    text_chars: int = 4096  # of one header value: a topic, a handle, a property's value …
    number_chars: int = 64
    parts: int = 100
    properties: int = 200
    arguments: int = 100
    recipients: int = 10_000
    bulk_messages: int = 10_000
    part_header_bytes: int = 16 << 10  # the MIME header of one part of a multipart body
    mime_parts: int = 1_000  # of one multipart
    mime_headers: int = 200  # of one part or entity
    mime_header_bytes: int = 64 << 10  # all of them together
    mime_parameters: int = 64  # of one header
    part_headers: int = 50  # of one part, beside its id and type


DEFAULT_LIMITS = WireLimits()
