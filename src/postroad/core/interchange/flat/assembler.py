"""Assembles members into a flat file, as a stream of pieces.

A member is one or more records; the last record may lack its record end. Times are UTC unless ``utc_offset_minutes`` is
set. Rules: every record is checked against the layout before it is written; only one member is in memory at a time, so
counts are written in the trailer, never in the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import moment_of, unfit_member, unfit_value
from postroad.core.interchange.flat.layout import FlatLayout, layout_of
from postroad.core.interchange.flat.records import HashTotal, encode_member, has_other_end, records_in
from postroad.core.interchange.model import Envelope, Numbers

_COUNTS = ("records", "all", "members", "total")


def assemble(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    """Yield header, members and trailer; header and trailer only if the layout defines them."""
    layout = layout_of(envelope.options)
    body = _Body(layout)
    values = _values(envelope, numbers)
    if layout.header is not None:
        if any(f"{{{name}" in envelope.options["header"] for name in _COUNTS):
            raise unfit_value(
                "header", f"it is written before the records are counted; put {', '.join(_COUNTS)} in the trailer"
            )
        yield layout.header.write(values) + layout.record_end
    for position, member in enumerate(members):
        yield body.write(member, position)
    if layout.trailer is not None:
        yield layout.trailer.write(values | body.counts()) + layout.record_end


class _Body:
    """Writes the records between header and trailer, and counts them."""

    def __init__(self, layout: FlatLayout) -> None:
        self._layout, self._total = layout, HashTotal(layout)
        self._records = self._members = 0

    def write(self, member: Buffer, position: int) -> bytes:
        layout = self._layout
        raw = self._in_charset(bytes(member), position)
        if layout.record_end:
            raw = raw.removesuffix(layout.record_end)
        records = [raw[begin:end] for begin, end, _ in records_in(raw, layout)]
        if not records:
            raise unfit_member(position, "it is empty")
        for place, record in enumerate(records):
            self._check(record, place, position)
        self._records += len(records)
        self._members += 1
        return raw + layout.record_end

    def counts(self) -> dict[str, str]:
        layout = self._layout
        around = sum(1 for template in (layout.header, layout.trailer) if template is not None)
        counts = {"records": self._records, "all": self._records + around, "members": self._members}
        return {name: str(count) for name, count in counts.items()} | {"total": self._total.text}

    def _in_charset(self, raw: bytes, position: int) -> bytes:
        layout = self._layout
        try:
            return encode_member(raw, layout)
        except UnicodeError as wrong:
            raise unfit_member(position, f"it cannot be put into {layout.charset}: {wrong}") from None

    def _check(self, record: bytes, place: int, position: int) -> None:
        layout = self._layout
        if wrong := self._what_is_wrong(record, place):
            raise unfit_member(position, f"record {place + 1}: {wrong}")
        if layout.quote and record.count(layout.quote) % 2:
            raise unfit_member(position, f"record {place + 1}: a quote is not closed")
        if wrong := self._total.add(record):
            raise unfit_member(position, f"record {place + 1}: {wrong}")

    def _what_is_wrong(self, record: bytes, place: int) -> str:
        layout, length = self._layout, self._layout.record_length
        if length and len(record) != length:
            return f"it has {len(record)} bytes, and should have {length}"
        if not record:
            return "it is empty"
        if has_other_end(record, layout):
            return "it has another line end than the file; set member_end in the layout"
        if layout.trailer is not None and record.startswith(layout.trailer.tag):
            return "it begins like the trailer, and would be mistaken for it"
        if layout.member_start and record.startswith(layout.member_start) is not (place == 0):
            return "only the first record of a member may begin with member_start"
        return (
            ""
            if layout.member_start or place == 0
            else "it is the second of its member; set member_start in the layout"
        )


def _values(envelope: Envelope, numbers: Numbers) -> dict[str, str]:
    moment = moment_of(envelope)
    around = envelope.options.get("header", "") + envelope.options.get("trailer", "")
    number = (
        str(numbers.next("interchange")) if "{number" in around else ""
    )  # a drawn number that is not written would leave a gap
    when = {"date": f"{moment:%Y%m%d}", "time": f"{moment:%H%M%S}"}
    return {"sender": envelope.sender, "receiver": envelope.receiver, "number": number} | when
