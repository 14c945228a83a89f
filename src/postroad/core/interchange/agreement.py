"""Options that a splitter can agree on with a partner, for every standard: names and allowed values.

acknowledge    asked or always: whether acknowledgments are sent only on request
answer         997 or 999
answers        hear or pass: whether the partner's acknowledgments are also forwarded
duplicates     refuse or pass: how a repeated interchange is handled
our_name, partner_name   both sides, as the batcher names them
topic          kind or keep: topic of documents

This module also lists the envelope options of each standard, as shown in the reference.

Rule: a name that a standard does not know is an error, reported when it is saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AGREEMENT_OPTIONS: dict[str, tuple[str, ...]] = {
    "acknowledge": ("asked", "always"),
    "answer": ("997", "999"),
    "answers": ("hear", "pass"),
    "duplicates": ("refuse", "pass"),
    "our_name": (),  # anything
    "partner_name": (),
    "topic": ("kind", "keep"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitterAgreement:
    """The agreed options of a splitter, parsed."""

    always_acknowledged: bool
    answers_pass: bool
    duplicates_pass: bool
    topic_kept: bool
    our_name: str
    partner_name: str


def read_agreement(options: Mapping[str, str]) -> SplitterAgreement:
    return SplitterAgreement(
        always_acknowledged=options.get("acknowledge") == "always",
        answers_pass=options.get("answers") == "pass",
        duplicates_pass=options.get("duplicates") == "pass",
        topic_kept=options.get("topic") == "keep",
        our_name=options.get("our_name", ""),
        partner_name=options.get("partner_name", ""),
    )


_EVERY_XML = ("reference",)

OPTION_NAMES: dict[str, frozenset[str]] = {
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
