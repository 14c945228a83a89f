"""Splits a flat file by its layout.

Rules: the bounds of members do not depend on counts, so a wrong count is not fatal. It is not repaired either, because
records may be missing. Only an unclosed quote makes record ends uncertain. Members are returned without their last
record end.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.envelope_errors import fatal, is_same_number, judge_harmless, no_interchange, too_many
from postroad.core.interchange.flat.charsets import EBCDIC, decode_text
from postroad.core.interchange.flat.layout import FlatLayout, layout_of
from postroad.core.interchange.flat.records import HashTotal, decode_member, has_other_end, is_same_total, records_in
from postroad.core.interchange.model import MAX_MEMBERS, InterchangeFault, Member, OnEnvelopeError, Split

STANDARD = "flat"
_HARMLESS = ("flat.unterminated", "flat.blank", "flat.bom")
_BOM = b"\xef\xbb\xbf"
_END_OF_FILE = b"\x1a"  # DOS end-of-file character after the last record
_MAX_FAULTS = 1000
_LONGEST = 200  # maximum bytes of a value in header or trailer
_SIDES = ("number", "sender", "receiver")  # values of a header or trailer that a split returns
_NOTHING: Mapping[str, str] = {}


def examine(data: Buffer, options: Mapping[str, str] = _NOTHING, most_members: int = MAX_MEMBERS) -> Split:
    """Read a file and list all its errors; refuses only a file without records."""
    walk = _Walk(whole_bytes(data), layout_of(options), most_members)
    walk.run()
    return walk.split(options)


def split(
    data: Buffer,
    on_error: OnEnvelopeError = OnEnvelopeError.REFUSE,
    options: Mapping[str, str] = _NOTHING,
    most_members: int = MAX_MEMBERS,
) -> Split:
    return judge_harmless(examine(data, options, most_members), on_error, _HARMLESS)


class _Walk:
    """One pass over the records."""

    def __init__(self, data: bytes, layout: FlatLayout, most_members: int) -> None:
        self._layout, self._most = layout, most_members
        self._said: dict[str, str] = {}  # values of header and trailer
        self._members: list[Member] = []
        self._faults: list[InterchangeFault] = []
        self._data = self._cleaned(data)
        self._view = memoryview(self._data)
        self._begin = self._end = -1  # of the open member
        self._records = self._around = 0
        self._total = HashTotal(layout)
        self._opened = self._closed = False

    def _cleaned(self, data: bytes) -> bytes:
        """Return the file without byte order mark and end-of-file character; offsets are relative to the result."""
        layout = self._layout
        if layout.charset == "utf-8" and data.startswith(_BOM):
            self._note("flat.bom", "it begins with a byte order mark", 0)
            data = data[len(_BOM) :]
        return data.removesuffix(_END_OF_FILE) if layout.record_end and layout.charset not in EBCDIC else data

    def run(self) -> None:
        if not self._data:
            raise no_interchange("the file is empty")
        layout = self._layout
        for place, (begin, end, after) in enumerate(records_in(self._data, layout)):
            record = self._data[begin:end]
            if place == 0 and layout.header is not None and record.startswith(layout.header.tag):
                self._read("header", record, begin)
            elif layout.trailer is not None and record.startswith(layout.trailer.tag):
                self._close()
                self._read("trailer", record, begin)
            else:
                self._record(record, begin, end)
            if end == after and layout.record_end:
                self._check_end(record, begin, end)
        self._close()
        self._check()

    def split(self, options: Mapping[str, str]) -> Split:
        said = self._said
        return Split(
            standard=STANDARD,
            reference=said.get("number", ""),
            sender=said.get("sender", ""),
            receiver=said.get("receiver", ""),
            members=tuple(self._members),
            facts={**options, **{f"said_{name}": value for name, value in said.items() if name not in _SIDES}},
            faults=tuple(self._faults),
        )

    # ---- records -----------------------------------------------------------------------------------------------------

    def _record(self, record: bytes, begin: int, end: int) -> None:
        layout = self._layout
        if not record:
            self._note("flat.blank", "there is an empty record here", begin)
            return
        starts = not layout.member_start or record.startswith(layout.member_start)
        if starts:
            self._close()
        elif self._begin < 0:
            self._note("flat.stray", "this record does not belong to a member", begin)
            return
        self._begin, self._end = begin if starts else self._begin, end
        self._check_record(record, begin)

    def _check_record(self, record: bytes, begin: int) -> None:
        self._records += 1
        member, layout = len(self._members), self._layout
        if self._closed:
            self._note("flat.stray", "a record follows the trailer", begin, member)
        if layout.record_length and len(record) != layout.record_length:
            text = f"the record has {len(record)} bytes, and should have {layout.record_length}"
            self._note("flat.length", text, begin, member)
        if has_other_end(record, layout):
            self._note("flat.line_end", "the record has a line end in it that is not the file's", begin, member)
        if wrong := self._total.add(record):
            self._note("flat.number", wrong, begin, member)

    def _close(self) -> None:
        """Close the open member."""
        if self._begin < 0:
            return
        if len(self._members) >= self._most:
            raise too_many(self._begin, self._most)
        number = str(len(self._members) + 1)
        self._members.append(Member(data=self._member_data(), kind="record", reference=number))
        self._begin = -1

    def _member_data(self) -> Buffer:
        view, layout = self._view[self._begin : self._end], self._layout
        if not layout.converts:
            return view
        try:
            return decode_member(bytes(view), layout)
        except UnicodeError as wrong:
            self._note("flat.charset", f"it cannot be converted: {wrong}", self._begin, len(self._members))
            return view

    def _check_end(self, record: bytes, begin: int, end: int) -> None:
        """Check the last record, which may lack its record end."""
        if self._layout.quote and record.count(self._layout.quote) % 2:
            text = "a quote in this record is not closed, so its end is unknown"
            self._faults.append(fatal("flat.quote", text, begin))
        else:
            self._note("flat.unterminated", "the last record has no end", end)

    # ---- what stands around ------------------------------------------------------------------------------------------

    def _read(self, what: str, record: bytes, at: int) -> None:
        layout = self._layout
        template = layout.header if what == "header" else layout.trailer
        said = template.read(record) if template is not None else None
        self._around += 1
        if what == "header":
            self._opened = True
        else:
            self._closed = True
        if said is None:
            self._note(f"flat.{what}", f"the {what} does not match the layout", at)
            return
        try:
            told = {name: decode_text(value[:_LONGEST], layout.charset).strip() for name, value in said.items()}
        except UnicodeError:
            self._note(f"flat.{what}", f"the {what} is not in {layout.charset}", at)
            return
        self._check_number(told, at)
        self._said = told | self._said  # values of the header take precedence

    def _check_number(self, told: Mapping[str, str], at: int) -> None:
        before = self._said.get("number")
        if before is not None and "number" in told and not is_same_number(told["number"], before):
            self._note("flat.control", f"the header has the number {before!r}, and the trailer {told['number']!r}", at)

    def _check(self) -> None:
        """Compare counts and hash total with those that header and trailer declare."""
        layout, end = self._layout, len(self._data)
        if layout.header is not None and not self._opened:
            self._note("flat.header", "there is no header", 0)
        if layout.trailer is not None and not self._closed:
            self._note("flat.trailer", "there is no trailer: the file may be incomplete", end)
        counted = {"records": self._records, "all": self._records + self._around, "members": len(self._members)}
        for name, count in counted.items():
            if name in self._said and not is_same_number(self._said[name], str(count)):
                self._note("flat.count", f"{self._said[name]!r} {name} are specified, but there are {count}", end)
        width = layout.trailer.width_of("total") if layout.trailer is not None else 0
        if (
            "total" in self._said
            and layout.has_total
            and not is_same_total(self._said["total"], self._total.text, width)
        ):
            self._note(
                "flat.total", f"the total {self._said['total']!r} is specified, but it is {self._total.text}", end
            )

    def _note(self, code: str, text: str, at: int, member: int = -1) -> None:
        if len(self._faults) < _MAX_FAULTS:
            self._faults.append(InterchangeFault(code=code, text=text, at=at, member=member))
