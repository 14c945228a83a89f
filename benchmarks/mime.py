"""What reading MIME costs, and putting it into DIME, beside the same work done with the standard ``email`` package.

    python -m benchmarks.mime

A message is SOAP with an attachment: a root on one line, as Axis and CXF write it, and beside it an order of 2 KB in all,
or a file of 1 MB. Both sides do the whole work: every part is found, and its type, its id and its content are asked for.
Each message has a boundary and ids of its own, and 300 others come before it comes again, so that nothing is gained by
remembering. Each figure is the least of several interleaved rounds of CPU time. Ends with 1 when a target is missed.
"""

from __future__ import annotations

import email
import sys
from collections.abc import Callable, Sequence
from email.message import Message
from itertools import cycle
from random import Random
from typing import NamedTuple

from benchmarks.codecs import cpu_us
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.dime import DimeRecord, TypeFormat, write_dime
from postroad.core.codecs.mime import (
    encode_content,
    make_boundary,
    read_multipart,
    read_related,
    write_head,
    write_multipart,
)
from postroad.core.codecs.mime.transfer import Encoding

ROUNDS = 15
SECONDS_PER_ROUND = 0.05
SOAP_TYPE = "http://schemas.xmlsoap.org/soap/envelope/"
ROOT = (
    b'<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="%b"><soapenv:Body><m:ProcessPurchaseOrder '
    b'xmlns:m="urn:example:orders"><order href="cid:order"/></m:ProcessPurchaseOrder></soapenv:Body>'
    b"</soapenv:Envelope>" % SOAP_TYPE.encode()
)
Part = tuple[str, str, Buffer]  # type, id, content


class Wire(NamedTuple):
    content_type: str
    body: bytes
    whole: bytes  # with the header that ``email`` wants to read


Work = Callable[[Wire], Sequence[object]]


class Row(NamedTuple):
    title: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    target: float | None


LINE = """\
  <Line>
    <ID>{0}</ID>
    <Item>AB-{0:04d}</Item>
    <Quantity>{0}</Quantity>
    <Price>{0}.50</Price>
  </Line>
"""


def order(lines: int = 12) -> bytes:
    """A purchase order with an element a line, some 1.4 KB at twelve lines."""
    items = "".join(LINE.format(number) for number in range(lines))
    return (
        f'<?xml version="1.0"?>\n<Order xmlns="urn:example:order">\n  <Buyer>MyBiz</Buyer>\n{items}</Order>\n'.encode()
    )


def message(number: int, attachment: bytes, kind: str, encoding: Encoding = "binary") -> Wire:
    """The number makes ids and boundary its own."""
    root_id, attached_id = f"root.{number}@example.com", f"attached.{number}@example.com"
    parts = [part("text/xml; charset=UTF-8", root_id, "binary", ROOT), part(kind, attached_id, encoding, attachment)]
    boundary = make_boundary([data for _, data in parts], b"%d" % number)
    content_type = f'multipart/related; type="text/xml"; start="<{root_id}>"; boundary="{boundary.decode()}"'
    body = b"".join(write_multipart(parts, boundary))
    head = write_head([("MIME-Version", "1.0"), ("Content-Type", content_type)])
    return Wire(content_type, body, head + b"\r\n" + body)


def part(kind: str, id_: str, encoding: Encoding, data: bytes) -> tuple[bytes, bytes]:
    fields = [("Content-Type", kind), ("Content-Transfer-Encoding", encoding), ("Content-ID", f"<{id_}>")]
    return write_head(fields), encode_content(data, encoding)


def parts_by_us(wire: Wire) -> list[Part]:
    multipart = read_multipart(wire.content_type, wire.body)
    return [(part.content_type, part.content_id, part.data()) for part in multipart.parts]


def parts_by_email(wire: Wire) -> list[Part]:
    return parts_in(email.message_from_bytes(wire.whole))


def parts_in(read: Message) -> list[Part]:
    parts = [part for part in read.get_payload() if isinstance(part, Message)]
    return [(part["Content-Type"], part["Content-ID"][1:-1], bytes(part.get_payload(decode=True))) for part in parts]


def dime_by_us(wire: Wire) -> list[Buffer]:
    related = read_related(wire.content_type, wire.body)
    others = [(part.content_type, part.content_id, part.data()) for part in related.others]
    return in_dime(related.root.content_id, related.root.data(), others)


def dime_by_email(wire: Wire) -> list[Buffer]:
    read = email.message_from_bytes(wire.whole)
    parts, start = parts_in(read), read.get_param("start")
    root = next(part for part in parts if f"<{part[1]}>" == start)
    return in_dime(root[1], root[2], [part for part in parts if part is not root])


def in_dime(root_id: str, root: Buffer, others: Sequence[Part]) -> list[Buffer]:
    """The root first and the others behind it; the ids here are such that they need no escaping."""
    records = [DimeRecord(type_format=TypeFormat.URI, type=SOAP_TYPE, id=f"cid:{root_id}", data=root)]
    records += [
        DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type=kind, id=f"cid:{id_}", data=data)
        for kind, id_, data in others
    ]
    return write_dime(records)


def row(title: str, wires: Sequence[Wire], by_us: Work, by_email: Work, target: float | None) -> Row:
    """Both sides are first seen to come to the same."""
    ours, theirs = by_us(wires[0]), by_email(wires[0])
    if list(map(_plain, ours)) != list(map(_plain, theirs)):
        raise AssertionError(f"{title}: the two sides do not come to the same")
    our_turn, their_turn = cycle(wires), cycle(wires)
    return Row(title, lambda: by_us(next(our_turn)), lambda: by_email(next(their_turn)), target)


def _plain(item: object) -> object:
    if isinstance(item, tuple):
        return tuple(map(_plain, item))
    return bytes(item) if isinstance(item, memoryview) else item


def rows() -> list[Row]:
    document, octets = order(), "application/octet-stream"
    small = [message(number, document, "application/xml") for number in range(300)]
    large = [message(number, Random(number).randbytes(1_000_000), octets) for number in range(3)]
    in_base64 = [message(number, Random(number).randbytes(700_000), octets, "base64") for number in range(3)]
    kilobytes = f"{len(small[0].body) / 1000:.1f} KB"
    return [
        row(f"multipart parsed, {kilobytes}", small, parts_by_us, parts_by_email, 10),
        row("multipart parsed, 1 MB", large, parts_by_us, parts_by_email, 100),
        row("multipart parsed, 1 MB in base64", in_base64, parts_by_us, parts_by_email, None),
        row(f"MIME to DIME, {kilobytes}", small, dime_by_us, dime_by_email, 10),
        row("MIME to DIME, 1 MB", large, dime_by_us, dime_by_email, 100),
        row("MIME to DIME, 1 MB in base64", in_base64, dime_by_us, dime_by_email, None),
    ]


def best_us(calls: Sequence[Callable[[], object]]) -> list[float]:
    """The least CPU time of each, all of them measured in turn."""
    repeats = [max(1, int(SECONDS_PER_ROUND / cpu_us(call, 3) * 1e6)) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        best = [min(known, cpu_us(call, times)) for known, call, times in zip(best, calls, repeats, strict=True)]
    return best


def main() -> int:
    measured = rows()
    figures = best_us([call for one in measured for call in (one.ours, one.theirs)])
    missed = 0
    print(f"{'':36} {'postroad':>12} {'email':>12}")
    for one, ours, theirs in zip(measured, figures[::2], figures[1::2], strict=True):
        ratio = theirs / ours
        holds = one.target is None or ratio >= one.target
        missed += not holds
        goal = f" {'✓' if holds else '✗'} (≥ {one.target:g})" if one.target else ""
        print(f"{one.title:36} {ours:9.1f} µs {theirs:9.1f} µs {ratio:7.1f}×{goal}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
