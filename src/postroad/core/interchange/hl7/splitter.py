"""Splits HL7: one message, several, or batches (BHS…BTS) with or without a file (FHS…FTS).

    examine       reports all errors without a decision; only bytes that are not HL7 are refused
    split         also decides by the agreement with the partner

Rules: members are views into the received bytes, without MLLP frames. A batch or file without its end is never accepted.
HL7 trailers have no number that would prove a count, so a wrong count is not repaired: messages may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.envelope_errors import is_same_number, judge_with_repair
from postroad.core.interchange.hl7.separators import (
    LINE_ENDS,
    Separators,
    fields_of,
    read_separators,
    text_of,
    to_readable,
)
from postroad.core.interchange.model import (
    MAX_MEMBERS,
    InterchangeFault,
    InterchangeGroup,
    Member,
    OnEnvelopeError,
    Split,
)
from postroad.errors import Refused

# After a line end, or at the start of an MLLP frame, after the end of the previous frame.
_CONTROL = re.compile(rb"(?:([\r\n])|\x1c[\r\n]*+\x0b|\x0b)(MSH|[FB](?:HS|TS))(?![A-Za-z0-9])")
_LINE_END = re.compile(rb"[\r\n]")
_HEADERS = (b"FHS", b"BHS")
_FACTS = ("sender_facility", "receiver", "receiver_facility", "date")


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Read everything in these bytes and list its errors."""
    raw, begin, end = to_readable(data)
    return _Walk(raw, begin, end, most_members).split


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    """Read everything in these bytes, if it is accepted."""
    return judge_split(examine(data, most_members), on_error)


def split_stream(
    data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS
) -> Iterator[Split]:
    """Yield one split, as in other standards; consecutive batches become groups of one interchange."""
    yield split(data, on_error, most_members)


def judge_split(found: Split, on_error: OnEnvelopeError) -> Split:
    """Accept or refuse an examined interchange."""
    return judge_with_repair(found, on_error)


class _Walk:
    """One pass from header or trailer to the next."""

    def __init__(self, raw: bytes, at: int, end: int, most: int) -> None:
        self._raw, self._view, self._end, self._most = raw, memoryview(raw), end, most
        self.marks = read_separators(raw, at)
        self._members: list[Member] = []
        self._groups: list[InterchangeGroup] = []
        self._faults: list[InterchangeFault] = []
        self._references: set[str] = set()
        self._file: list[bytes] | None = None
        self._open_file = self._open_batch = False
        self._first = self._batches = 0  # member of the open batch; batches of the open file
        self._facts_by_header: dict[tuple[bytes, ...], Mapping[str, str]] = {}
        self._walk(at)

    @property
    def split(self) -> Split:
        head = self._file or self._first_header()
        return Split(
            standard="hl7",
            reference=text_of(head[11] if self._is_batch() else head[10]),
            sender=text_of(head[3]),
            receiver=text_of(head[5]),
            members=tuple(self._members),
            groups=tuple(self._groups),
            facts={**self.marks.facts(), **_header_facts(head), "batch": "1" if self._is_batch() else "0"},
            faults=tuple(self._faults),
        )

    def _is_batch(self) -> bool:
        return self._raw_header[:3] in _HEADERS

    def _first_header(self) -> list[bytes]:
        return fields_of(self._raw_header, self.marks, 12)

    def _walk(self, at: int) -> None:
        found = list(_starts(self._raw, at, self._end))
        ends = [before for before, _, _ in found[1:]] + [self._end]
        self._raw_header = _first_line(self._raw, at, ends[0])
        if self.marks.contradict():
            self._note("hl7.separators", "its header gives one character two roles", at, fatal=True)
            return
        steps = {b"FHS": self._begin_file, b"BHS": self._begin_batch, b"BTS": self._end_batch, b"FTS": self._end_file}
        for (_, begin, tag), end in zip(found, ends, strict=True):
            if tag == b"MSH":
                self._message(begin, end)
            else:
                steps[tag](begin, end)
                self._look_behind(begin, end)
        self._expect_closed(self._end)

    # ---- one kind of segment each ------------------------------------------------------------------------------------

    def _begin_file(self, begin: int, end: int) -> None:
        if self._file is not None or self._members or self._open_batch:
            self._note("hl7.structure", "FHS is inside, but only one file was expected", begin, fatal=True)
        self._file, self._open_file = self._fields(begin, end, 12), True

    def _begin_batch(self, begin: int, end: int) -> None:
        if self._open_batch:
            self._note("hl7.structure", "BHS is inside a batch that has no BTS", begin, fatal=True)
        header = self._fields(begin, end, 12)
        self._groups.append(InterchangeGroup(kind="batch", reference=text_of(header[11]), facts=_header_facts(header)))
        self._open_batch, self._first = True, len(self._members)
        self._batches += 1

    def _end_batch(self, begin: int, end: int) -> None:
        if not self._open_batch:
            self._note("hl7.structure", "BTS is where no batch is open", begin, fatal=True)
            return
        messages = len(self._members) - self._first
        self._check_count(begin, end, messages, "messages", len(self._groups) - 1)
        self._open_batch = False

    def _end_file(self, begin: int, end: int) -> None:
        if not self._open_file or self._open_batch:
            self._note("hl7.structure", "FTS is where no file is open, or a batch still is", begin, fatal=True)
            return
        self._check_count(begin, end, self._batches, "batches", -1)
        self._open_file = False

    def _check_count(self, begin: int, end: int, count: int, what: str, group: int) -> None:
        """Check the count, which may be omitted."""
        said = text_of(self._fields(begin, end, 1)[1])
        if said and not is_same_number(said, str(count)):
            tag = text_of(self._raw[begin : begin + 3])
            self._note("hl7.count", f"{tag} specifies {said!r} {what}, but there are {count}", begin, group)

    def _message(self, begin: int, end: int) -> None:
        if len(self._members) >= self._most:
            raise Refused("wire.too-complex", f"byte {begin}: there are more than {self._most} messages")
        if self._batches and not self._open_batch:
            self._note("hl7.stray", "a message follows a batch, but is in no batch", begin)
        if not self._groups:
            self._groups.append(InterchangeGroup())
        marks = read_separators(self._raw, begin)
        header, member = fields_of(_first_line(self._raw, begin, end), marks, 18), len(self._members)
        reference, group = text_of(header[10]), len(self._groups) - 1
        if not reference:
            self._note(
                "hl7.control", "MSH-10 is empty, so an acknowledgment cannot refer to the message", begin, group, member
            )
        elif reference in self._references:
            self._note("hl7.duplicate", f"message {reference} is repeated", begin, group, member)
        self._references.add(reference)
        facts = self._message_facts(header, marks)
        data, kind = self._view[begin:end], text_of(header[9])
        self._members.append(Member(data=data, kind=kind, reference=reference, group=group, facts=facts))

    def _message_facts(self, header: list[bytes], marks: Separators) -> Mapping[str, str]:
        """Return the facts of a message header; cached, since most messages come from the same program."""
        told = (marks.field + marks.encoding(), *header[3:7], header[11], header[12], *header[15:19])
        found = self._facts_by_header.get(told)
        if found is None:
            names = ("separators", "sender", "sender_facility", "receiver", "receiver_facility", "processing", "version",
                     "accept_acknowledgment", "application_acknowledgment", "country", "charset")  # fmt: skip
            found = {name: text_of(one) for name, one in zip(names, told, strict=True)}
            if len(self._facts_by_header) < 1000:
                self._facts_by_header[told] = found
        return found

    # ---- the rest ----------------------------------------------------------------------------------------------------

    def _fields(self, begin: int, end: int, size: int) -> list[bytes]:
        return fields_of(_first_line(self._raw, begin, end), self.marks, size)

    def _look_behind(self, begin: int, end: int) -> None:
        line = len(_first_line(self._raw, begin, end))
        rest = self._raw[begin + line : end].strip(LINE_ENDS + b" \t")
        if rest:
            text = f"data after {text_of(self._raw[begin : begin + 3])} does not belong to a message: {rest[:16]!r}"
            self._note("hl7.stray", text, begin + line)

    def _expect_closed(self, at: int) -> None:
        if self._open_batch or self._open_file:
            missing = "BTS" if self._open_batch else "FTS"
            self._note("hl7.truncated", f"it ends before its {missing}", at, fatal=True)

    def _note(self, code: str, text: str, at: int, group: int = -1, member: int = -1, *, fatal: bool = False) -> None:
        self._faults.append(InterchangeFault(code=code, text=text, at=at, group=group, member=member, fatal=fatal))


def _starts(raw: bytes, at: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield each header or trailer: the end of the preceding content, its own begin, and its tag."""
    yield at, at, raw[at : at + 3]
    for found in _CONTROL.finditer(raw, at + 3, end):
        yield found.end(1) if found.group(1) else found.start(), found.start(2), found.group(2)


def _first_line(raw: bytes, begin: int, end: int) -> bytes:
    found = _LINE_END.search(raw, begin, end)
    return raw[begin : found.start() if found else end]


def _header_facts(header: list[bytes]) -> dict[str, str]:
    facts = {name: text_of(one) for name, one in zip(_FACTS, header[4:8], strict=True)}
    return {"sender": text_of(header[3]), **facts}
