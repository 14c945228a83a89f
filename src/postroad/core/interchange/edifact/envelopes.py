"""The segments around a batch: UNA, UNB and UNZ, UNG and UNE.

Options of an envelope, with their defaults in parentheses:

    syntax (UNOC) and version (3) of UNB · una: 1 always (only if the delimiters are not the standard's)
    sender_qualifier, receiver_qualifier, sender_internal, receiver_internal, application, priority, agreement, test,
    acknowledgment of UNB (empty) · groups: 1 puts messages into groups by kind and version (0)
    component, element, decimal, release, repetition, terminator, line_end (: + . ? none, or * in version 4, ' and nothing)
    utc_offset_minutes (0) · message_numbers own, interchange or drawn (own) · counts refuse or repair (refuse)

Rule: a value that is too long or not in the charset is refused, never cut; a delimiter in it is released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from postroad.core.interchange.assembly_errors import moment_of, unfit_value
from postroad.core.interchange.edifact.charsets import CHARSETS, charset_of
from postroad.core.interchange.edifact.delimiters import USUAL, EdifactDelimiters, contradicts, delimiters_of
from postroad.core.interchange.edifact.messages import EdifactMessage
from postroad.core.interchange.edifact.segments import write_segment
from postroad.core.interchange.model import Envelope, Split

HIGHEST_NUMBER = 99_999_999_999_999  # a reference has 14 characters
WIDTHS = {
    "sender": 35, "sender_qualifier": 4, "sender_internal": 35, "receiver": 35, "receiver_qualifier": 4,
    "receiver_internal": 35, "application": 14, "priority": 1, "acknowledgment": 1, "agreement": 35, "test": 1,
}  # fmt: skip
_KEPT = ("syntax", "version", "test", "una", "component", "element", "decimal", "release", "repetition", "terminator")
_SWAPPED = ("qualifier", "internal")


def syntax_of(envelope: Envelope) -> str:
    syntax = envelope.options.get("syntax", "UNOC")
    if syntax not in CHARSETS and not (len(syntax) == 4 and syntax.isascii() and syntax.isalnum()):
        raise unfit_value("syntax", f"{syntax!r} is not a syntax identifier; {', '.join(CHARSETS)} are")
    return syntax


def version_of(envelope: Envelope) -> str:
    version = envelope.options.get("version", "3")
    if version not in ("1", "2", "3", "4"):
        raise unfit_value("version", f"{version!r} is not one of the versions 1, 2, 3 and 4")
    return version


def marks_of(envelope: Envelope) -> EdifactDelimiters:
    """Return the delimiters of the envelope; with a repetition separator from version 4 on."""
    wished = {"repetition": "*"} if version_of(envelope) == "4" else {}
    marks = delimiters_of({**wished, **envelope.options})
    if contradicts(marks):
        raise unfit_value("delimiters", "each of them must be a different character, and not a letter or digit")
    return marks


def answering(found: Split, at_us: int, facts: Mapping[str, str] | None = None) -> Envelope:
    """Return the envelope of a reply: the same delimiters, charset and version, with sender and receiver swapped."""
    told = {name: found.facts[name] for name in _KEPT if found.facts.get(name)}
    told["release"] = found.facts["release"]
    if contradicts(delimiters_of(told)):
        told = {name: text for name, text in told.items() if name in ("syntax", "version", "test")}
    for side, other in (("sender", "receiver"), ("receiver", "sender")):
        told |= {f"{side}_{name}": found.facts.get(f"{other}_{name}", "") for name in _SWAPPED}
    return Envelope(sender=found.receiver, receiver=found.sender, at_us=at_us, options=told | dict(facts or {}))


def write_opening(envelope: Envelope, reference: str, marks: EdifactDelimiters) -> bytes:
    """Write UNA, if needed or requested, and UNB."""
    said = {name: _value(name, envelope) for name in WIDTHS}
    syntax, charset = syntax_of(envelope), charset_of(syntax_of(envelope))
    parties = [[said[f"{side}{part}"] for part in ("", "_qualifier", "_internal")] for side in ("sender", "receiver")]
    rest = [said[name] for name in ("application", "priority", "acknowledgment", "agreement", "test")]
    head = [[syntax, version_of(envelope)], *parties, write_time(envelope), reference, "", *rest]
    written = write_segment(marks, "UNB", *head, charset=charset)
    return (marks.service_string() + marks.line_end if _needs_una(envelope, marks) else b"") + written


def write_group_opening(envelope: Envelope, message: EdifactMessage, reference: str, marks: EdifactDelimiters) -> bytes:
    """Write UNG: the messages' kind and version, and the parties of the interchange."""
    said = {name: _value(name, envelope) for name in WIDTHS}
    parties = [[said[f"{side}{part}"] for part in ("", "_qualifier")] for side in ("sender", "receiver")]
    version, release, agency, association = message.version
    directory = [version, release, association]
    head = [message.kind, *parties, write_time(envelope), reference, agency, directory]
    return write_segment(marks, "UNG", *head, charset=charset_of(syntax_of(envelope)))


def write_time(envelope: Envelope) -> list[str]:
    """Write date and time; with the century from version 4 on."""
    moment = moment_of(envelope)
    return [f"{moment:%Y%m%d}" if version_of(envelope) == "4" else f"{moment:%y%m%d}", f"{moment:%H%M}"]


def check_number(number: int) -> int:
    if not 0 < number <= HIGHEST_NUMBER:
        raise unfit_value("number", f"control references must be from 1 to {HIGHEST_NUMBER}; {number} is not valid")
    return number


def _needs_una(envelope: Envelope, marks: EdifactDelimiters) -> bool:
    usual = replace(USUAL, line_end=marks.line_end, repetition=b"*" if version_of(envelope) == "4" else b"")
    return marks != usual or envelope.options.get("una") == "1"


def _value(name: str, envelope: Envelope) -> str:
    text = {"sender": envelope.sender, "receiver": envelope.receiver}.get(name, envelope.options.get(name, ""))
    if len(text) > WIDTHS[name]:
        raise unfit_value(name, f"{text!r} is longer than the {WIDTHS[name]} characters that EDIFACT allows")
    syntax, marks = syntax_of(envelope), marks_of(envelope)
    try:
        raw = text.encode(charset_of(syntax))
    except UnicodeEncodeError:
        raise unfit_value(name, f"{text!r} cannot be written in {syntax}") from None
    if not text.isprintable() or (not marks.release and any(one in raw for one in marks.special())):
        raise unfit_value(name, f"{text!r} has a control character or a delimiter in it that cannot be released")
    return text
