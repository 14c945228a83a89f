"""What the facts of an envelope may be called, by standard: as the pages on standards have them.

Kept rule: a name that a standard does not know is a mistake of who wrote it, and is told when it is saved.
"""

from __future__ import annotations

_EVERY_XML = ("reference",)

FACT_NAMES: dict[str, frozenset[str]] = {
    "x12": frozenset(
        ("version", "release", "sender_qualifier", "receiver_qualifier", "application_sender", "application_receiver",
         "functional_group", "agency", "usage", "acknowledgment", "authorization_qualifier", "authorization",
         "security_qualifier", "security", "element", "component", "terminator", "repetition", "line_end", "charset",
         "utc_offset_minutes", "set_numbers", "counts")
    ),
    "edifact": frozenset(
        ("syntax", "version", "sender_qualifier", "receiver_qualifier", "sender_internal", "receiver_internal",
         "application", "priority", "agreement", "acknowledgment", "test", "una", "component", "element", "decimal",
         "release", "terminator", "repetition", "line_end", "groups", "message_numbers", "counts", "utc_offset_minutes")
    ),
    "hl7": frozenset(
        ("sender_facility", "receiver_facility", "security", "name", "comment", "answered", "field", "component",
         "repetition", "escape", "subcomponent", "file", "utc_offset_minutes")
    ),
    "swift": frozenset(("form", "charset")),
    "iso20022": frozenset((*_EVERY_XML, "form", "members", "payload_type", "duplicate")),
    "gs1": frozenset(
        (*_EVERY_XML, "form", "message", "multiple_type", "document_type", "standard", "type_version", "authority")
    ),
    "xml": frozenset((*_EVERY_XML, "root", "namespace", "attributes")),
    "flat": frozenset(
        ("form", "charset", "member_charset", "member_end", "record_end", "record_length", "separator", "quote",
         "member_start", "header", "trailer", "total", "total_records", "utc_offset_minutes")
    ),
    "json_lines": frozenset(),
}  # fmt: skip
