"""What EDIFACT and HL7 interchanges cost to put together and to take apart, beside pydifact and python-hl7.

    python -m benchmarks.edifact [--quick]

A batch is 1,000 orders (ORDERS, 2 and 4 KB) or 500 results (ORU, 5 KB). Putting together: each comes as a ready message, and
all of them become one interchange; the other side reads each and writes it into one. Taking apart: members, counts and
references are found and checked by us; the other side reads all of it. Each figure is the least of several interleaved rounds
of CPU time; the other side does a part of the batch, and its time is multiplied. Ends with 1 when a target is missed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial

import hl7 as python_hl7
from pydifact.segmentcollection import Interchange, RawSegmentCollection

from benchmarks.codecs import cpu_us
from benchmarks.interchange import Counting, Row
from postroad.core.interchange import edifact, hl7
from postroad.core.interchange.model import Envelope

PART = 20
LEAST = 20.0  # times as fast as pydifact
ENVELOPE = Envelope(sender="MYBIZ", receiver="ACME", at_us=1_794_830_400_000_000)


def order(number: int, size: int) -> bytes:
    lines = "".join(
        f"LIN+{line}++400000{line:07d}:EN'IMD+F++:::PENCIL?, YELLOW?+RED NO {line}'QTY+21:{line * 12}'PRI+AAA:{line}.95'"
        for line in range(1, size + 1)
    )
    head = f"BGM+220+PO-{number:08d}+9'DTM+137:20261116:102'NAD+BY+4012345000009::9'NAD+SU+4012345000016::9'"
    body = f"{head}{lines}UNS+S'CNT+2:{size}'"
    segments = body.count("'") + 2
    return f"UNH+{number}+ORDERS:D:96A:UN:EAN008'{body}UNT+{segments}+{number}'".encode()


def result(number: int, size: int) -> bytes:
    lines = "".join(
        f"OBX|{line}|NM|{line:05d}-1^Glucose^LN||{line}.4|mg/dL|70-99|N|||F|||20261116\r" for line in range(1, size + 1)
    )
    head = f"MSH|^~\\&|LAB|WARD|EHR|MAIN|20261116||ORU^R01|M{number}|P|2.5\rPID|1||{number:08d}^^^MAIN||DOE^JOHN\r"
    return f"{head}OBR|1||{number}|PANEL^Panel^L\r{lines}".encode()


def ours(messages: Sequence[bytes]) -> bytes:
    return b"".join(edifact.assemble(messages, ENVELOPE, Counting()))


def by_pydifact(messages: Sequence[str]) -> str:
    whole = Interchange(syntax_identifier=("UNOC", 3), sender="MYBIZ", recipient="ACME", control_reference="1")
    for message in messages:
        for segment in RawSegmentCollection.from_str(message).segments:
            whole.add_segment(segment)
    return whole.serialize()


def rows() -> Iterator[Row]:
    for size in (18, 48):
        messages = [order(number, size) for number in range(1, 1_001)]
        whole, few = ours(messages), [one.decode() for one in messages[: 1_000 // PART]]
        if by_pydifact(few).count("UNT+") != len(few):
            raise AssertionError("the other side does not come to the same")
        part, megabytes = ours(messages[: 1_000 // PART]).decode(), len(whole) / 1e6
        title = f"ORDERS of {len(whole) / 1e6:.1f} KB"
        yield Row(f"{title}: into one", partial(ours, messages), partial(by_pydifact, few), megabytes, LEAST)
        apart = lambda p=part: list(Interchange.from_str(p).get_messages())  # noqa: E731
        yield Row(f"{title}: taken apart", partial(edifact.split, whole), apart, megabytes, LEAST)
    results = [result(number, 75) for number in range(1, 501)]
    whole = b"".join(hl7.assemble(results, ENVELOPE, Counting()))
    part = b"".join(hl7.assemble(results[: 500 // PART], ENVELOPE, Counting())).decode()
    yield Row(
        "ORU of 5 KB: taken apart",
        lambda: hl7.split(whole),
        lambda: python_hl7.parse_file(part),
        len(whole) / 1e6,
        LEAST,
    )


def main() -> int:
    warnings.simplefilter("ignore")  # pydifact has no directory of service segments for every version, and says so
    rounds, missed = 3 if "--quick" in sys.argv else 7, 0
    print(f"{'a batch':32} {'postroad':>12} {'':>12} {'the other':>12}")
    for row in rows():
        us, other = float("inf"), float("inf")
        for _ in range(rounds):
            us, other = min(us, cpu_us(row.ours, 1)), min(other, cpu_us(row.theirs, 1) * PART)
        holds = row.target is None or other / us >= row.target
        missed += not holds
        speed = f"{us / 1000:9.1f} ms {row.megabytes / us * 1e6:7.0f} MB/s"
        print(
            f"{row.title:32} {speed} {other / 1000:9.1f} ms {other / us:7.1f}× {'✓' if holds else '✗'} (≥ {row.target:g})"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
