r"""Assembles messages into an HL7 batch, as a stream of pieces.

    FHS  BHS  MSH…  MSH…  BTS  FTS          or, with the fact file=0, without FHS and FTS

A member is a ready message (MSH…), or a batch or file of such messages from an application, whose messages are used.
Options of an envelope, with their defaults in parentheses:

    sender_facility, receiver_facility, security, name, comment, answered: BHS-4, 6, 8, 9, 10 and 12, of FHS too (empty)
    field, component, repetition, escape, subcomponent (| ^ ~ \\ &) · file: 1 or 0 (1) · utc_offset_minutes (0)

Rules: members keep their order and their own control id, by which they are acknowledged. A message with other separators
is converted to ours, without a change of its text. Only one member is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import moment_of, offset_minutes, unfit_member, unfit_value
from postroad.core.interchange.hl7.messages import Hl7Message, convert_separators, read_message
from postroad.core.interchange.hl7.separators import Separators, escape_text, separators_of, to_readable
from postroad.core.interchange.hl7.splitter import split
from postroad.core.interchange.model import Envelope, Numbers, Placed, PlacedCallback
from postroad.errors import Refused


def assemble(
    members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None = None
) -> Iterator[bytes]:
    """Yield the pieces of the stream; calls ``placed`` for every message when its piece is yielded."""
    marks, as_file = marks_of(envelope), envelope.options.get("file", "1") == "1"
    around = str(numbers.next("interchange")) if as_file else ""
    batch, count = str(numbers.next("group")), 0
    if as_file:
        yield _header(b"FHS", envelope, around, marks)
    yield _header(b"BHS", envelope, batch, marks)
    for position, message, fitted in _messages(members, marks):
        count += 1
        if placed is not None:
            placed(_place(position, message, batch, around))
        yield fitted.data
    yield marks.field.join((b"BTS", b"%d\r" % count))
    if as_file:
        yield marks.field.join((b"FTS", b"1\r"))


def _place(position: int, message: Hl7Message, batch: str, file: str) -> Placed:
    return Placed(position=position, interchange=file, group=batch, kind=message.kind, reference=message.reference)


def _messages(members: Iterable[Buffer], marks: Separators) -> Iterator[tuple[int, Hl7Message, Hl7Message]]:
    """Yield each message with its member's position, unchanged and in the separators of the batch."""
    for position, member in enumerate(members):
        try:
            found = [(one, convert_separators(one, marks)) for one in _messages_of(member)]
        except Refused as refused:
            raise unfit_member(position, refused.detail) from None
        for message, fitted in found:
            yield position, message, fitted


def _messages_of(member: Buffer) -> list[Hl7Message]:
    raw, at, _ = to_readable(member)
    if raw.startswith((b"FHS", b"BHS"), at):
        return [read_message(one.data) for one in split(raw).members]
    return [read_message(member)]


def marks_of(envelope: Envelope) -> Separators:
    marks = separators_of(envelope.options)
    if marks.contradict():
        raise unfit_value("separators", "each of them must be a different character, and not a letter or digit")
    return marks


def write_time(envelope: Envelope) -> str:
    moment, minutes = moment_of(envelope), offset_minutes(envelope)
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    return f"{moment:%Y%m%d%H%M%S}{sign}{hours:02d}{rest:02d}"


def write_party(text: str, marks: Separators) -> bytes:
    """Write an application or facility with its components, in these separators."""
    return marks.component.join(escape_text(one, marks) for one in text.split("^"))


def _header(tag: bytes, envelope: Envelope, number: str, marks: Separators) -> bytes:
    facts: Mapping[str, str] = envelope.options
    parties = (
        envelope.sender,
        facts.get("sender_facility", ""),
        envelope.receiver,
        facts.get("receiver_facility", ""),
    )
    rest = (
        facts.get("security", ""),
        facts.get("name", ""),
        facts.get("comment", ""),
        number,
        facts.get("answered", ""),
    )
    fields = [tag, marks.encoding(), *(write_party(one, marks) for one in parties), write_time(envelope).encode()]
    fields += [escape_text(one, marks) for one in rest]
    return marks.field.join(fields).rstrip(marks.field) + b"\r"
