"""Assembles messages into EDIFACT interchanges, as a stream of pieces.

    UNA  UNB  UNH…UNT  UNH…UNT  UNZ          or          UNB  UNG  UNH…UNT  UNE  UNG  UNH…UNT  UNE  UNZ

A member is a ready message (UNH…UNT), or an interchange of such messages (UNA or UNB…UNZ) that an application wrote,
whose messages are used. A message may declare its delimiters and charset (``document_options``). Rules: members keep
their order. A message in other delimiters is converted to ours, escaping where needed; if that is impossible, it gets
a separate interchange. A message in another charset is converted to ours or refused. Only one member is in memory at
a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import unfit, unfit_member
from postroad.core.interchange.document_options import (
    convert_charset,
    find_declared_charset,
    read_by_declaration,
    unwrap_described,
)
from postroad.core.interchange.edifact.charsets import ESCAPE, ESCAPES, codec_of_syntax, is_in_charset
from postroad.core.interchange.edifact.delimiters import (
    EdifactDelimiters,
    delimiters_of,
    read_declared_delimiters,
    to_readable,
)
from postroad.core.interchange.edifact.envelopes import (
    check_number,
    marks_of,
    syntax_of,
    version_of,
    write_group_opening,
    write_opening,
)
from postroad.core.interchange.edifact.messages import EdifactMessage, convert_delimiters, read_message
from postroad.core.interchange.edifact.segments import write_segment
from postroad.core.interchange.edifact.splitter import split_stream
from postroad.core.interchange.envelope_errors import without_breaks
from postroad.core.interchange.model import (
    DescribedDocument,
    Envelope,
    Numbers,
    OnEnvelopeError,
    Placed,
    PlacedCallback,
)
from postroad.errors import Refused

MAX_MESSAGES = 999_999  # of an interchange or a group: six digits


def assemble(
    members: Iterable[Buffer | DescribedDocument],
    envelope: Envelope,
    numbers: Numbers,
    placed: PlacedCallback | None = None,
) -> Iterator[bytes]:
    """Yield the pieces of the stream; calls ``placed`` for every message when its piece is yielded."""
    return _Assembly(envelope, numbers, placed).pieces(members)


class _Assembly:
    """One stream being written."""

    def __init__(self, envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None) -> None:
        self._envelope, self._numbers, self._placed = envelope, numbers, placed
        self._asked, self._syntax = marks_of(envelope), syntax_of(envelope)
        self._numbering = envelope.options.get("message_numbers", "own")
        self._repairs = envelope.options.get("counts", "refuse") == "repair"
        self._in_groups = envelope.options.get("groups", "0") == "1"
        self._marks: EdifactDelimiters | None = None  # of the open interchange
        self._key: tuple[str, ...] | None = None  # of the open group
        self._interchange = self._group = ""
        self._groups = self._messages = self._in_group = 0
        self._references: set[str] = set()  # in the open group or interchange

    def pieces(self, members: Iterable[Buffer | DescribedDocument]) -> Iterator[bytes]:
        for position, member in enumerate(members):
            try:
                for message in self._messages_of(member):
                    yield from self._put(message, position)
            except Refused as refused:
                raise _of_member(position, refused) from None
        if self._marks is None:
            yield self._open(self._asked)
        yield from self._close()

    # ---- members -----------------------------------------------------------------------------------------------------

    def _messages_of(self, member: Buffer | DescribedDocument) -> Iterator[EdifactMessage]:
        member, options = unwrap_described(member)
        if member[:3] == b"UNH":
            yield self._alone(member, options)
            return
        raw, at, encoding = to_readable(member)
        if not raw.startswith((b"UNA", b"UNB"), at):
            yield self._alone(raw[at:], {**options, "charset": "utf-8"} if encoding else options)
            return
        on_error = OnEnvelopeError.REPAIR if self._repairs else OnEnvelopeError.REFUSE
        # All are checked before the first is written: a member is written completely or not at all.
        for part in list(split_stream(raw, on_error)):
            marks, told = delimiters_of(part.facts), {"syntax": part.facts["syntax"]}
            if encoding:
                told["charset"] = "utf-8"
            for one in part.members:
                yield self._in_charset(read_message(one.data, marks), told)

    def _alone(self, data: Buffer, options: Mapping[str, str]) -> EdifactMessage:
        """Return a message without an interchange, with its declared or detected delimiters."""
        found = read_by_declaration(
            options,
            lambda declared: read_message(data, read_declared_delimiters(declared)),
            lambda: read_message(data, self._asked, known=False),
        )
        return self._in_charset(found, options)

    def _in_charset(self, found: EdifactMessage, options: Mapping[str, str]) -> EdifactMessage:
        """Convert a message to the charset of the interchange; the bytes stay the same if the charset is the same."""
        data = found.data
        if ESCAPE in data and ESCAPES in (self._syntax, options.get("syntax")):
            raise unfit(f"message {found.reference} has escape sequences of {ESCAPES}, which are not supported")
        if data.isascii():
            return found
        syntax, declared = options.get("syntax") or self._syntax, find_declared_charset(data, options)
        old, new = declared or codec_of_syntax(syntax), codec_of_syntax(self._syntax)
        if not declared and not is_in_charset(data, syntax):
            raise unfit(f"message {found.reference} has bytes that are not in the charset of {syntax}")
        if not declared and (syntax == self._syntax or (old and old == new)):
            return found
        if not old or not new:
            unknown = self._syntax if old else syntax
            raise unfit(
                f"message {found.reference} has letters beyond ASCII, and the charset of {unknown} is not known"
            )
        try:
            written = convert_charset(data, old, new)
        except Refused as refused:
            raise unfit(f"message {found.reference}: {refused.detail}") from None
        return found if written == data else read_message(written, found.marks)

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _put(self, found: EdifactMessage, position: int) -> list[bytes]:
        if not found.has_right_trailer and not self._repairs:
            raise unfit(f"UNT specifies {found.said}, but the message {found.reference} has {found.segments} segments")
        if self._numbering == "own" and not without_breaks(found.reference):
            raise unfit(f"a message {found.kind} has no reference; set messageNumbers to number the messages")
        fitted, marks = self._fitted(found)
        key = (fitted.kind, *fitted.version) if self._in_groups else ()
        pieces = self._room_for(fitted, key, marks)
        reference = self._reference_of(fitted)
        self._messages += 1
        self._in_group += 1
        self._references.add(reference)
        pieces += fitted.write(reference)
        if marks.line_end:
            pieces.append(marks.line_end)
        if self._placed is not None:
            self._placed(
                Placed(
                    position=position,
                    interchange=self._interchange,
                    group=self._group,
                    kind=fitted.kind,
                    reference=reference,
                )
            )
        return pieces

    def _room_for(self, found: EdifactMessage, key: tuple[str, ...], marks: EdifactDelimiters) -> list[bytes]:
        """Return the segments that must be closed and opened before this message can be written."""
        pieces: list[bytes] = []
        repeated = self._numbering == "own" and without_breaks(found.reference) in self._references
        full = self._in_group >= MAX_MESSAGES or self._groups >= MAX_MESSAGES
        if marks != self._marks or (not self._in_groups and (repeated or full)):
            pieces += [*self._close(), self._open(marks)]
        if self._in_groups and (key != self._key or repeated or full):
            pieces += [*self._close_group(), self._open_group(found, key, marks)]
        return pieces

    def _fitted(self, found: EdifactMessage) -> tuple[EdifactMessage, EdifactDelimiters]:
        """Return the message with the delimiters of the open interchange, or the requested ones, or its own."""
        own = replace(found.marks, line_end=self._asked.line_end)
        for marks in (self._marks or self._asked, self._asked, own):
            fitted = convert_delimiters(found, marks)
            if fitted is not None:
                return fitted, marks
        raise unfit(f"message {found.reference} cannot be expressed in version {version_of(self._envelope)}")

    def _reference_of(self, found: EdifactMessage) -> str:
        if self._numbering == "own":
            return without_breaks(found.reference)
        if self._numbering == "drawn":
            return str(check_number(self._numbers.next("member")))
        return str(self._messages + 1)

    # ---- what stands around ------------------------------------------------------------------------------------------

    def _open(self, marks: EdifactDelimiters) -> bytes:
        self._interchange = str(check_number(self._numbers.next("interchange")))
        self._marks, self._groups, self._messages, self._in_group = marks, 0, 0, 0
        self._references = set()
        return write_opening(self._envelope, self._interchange, marks)

    def _open_group(self, found: EdifactMessage, key: tuple[str, ...], marks: EdifactDelimiters) -> bytes:
        self._group = str(check_number(self._numbers.next("group")))
        self._key, self._in_group, self._references = key, 0, set()
        self._groups += 1
        return write_group_opening(self._envelope, found, self._group, marks)

    def _close_group(self) -> list[bytes]:
        if self._key is None or self._marks is None:
            return []
        self._key = None
        return [write_segment(self._marks, "UNE", str(self._in_group), self._group)]

    def _close(self) -> list[bytes]:
        if self._marks is None:
            return []
        pieces, marks = self._close_group(), self._marks
        count = self._groups if self._in_groups else self._messages
        self._marks = None
        return [*pieces, write_segment(marks, "UNZ", str(count), self._interchange)]


def _of_member(position: int, refused: Refused) -> Refused:
    """Return the refusal of this member; a refusal with a pointer concerns the envelope, and is returned unchanged."""
    return refused if refused.pointer else unfit_member(position, refused.detail)
