"""What interchanges cost to put together and to take apart, beside pyx12 and beside the least there is: ``bytes.split``.

    python -m benchmarks.interchange [--quick]

A batch is 2 to 5 MB of X12 orders (850) or remittance advices (835), in documents of 2 KB and of 5 or 20 KB: the smaller they
are, the more the envelope of each counts, and with 2 KB the targets are near. Putting together: each comes as a small
interchange, as applications write them, or as a ready set; all of them become one interchange, with one envelope, counts and
control numbers. pyx12 reads each small interchange and writes its segments, and leaves the sets' numbers as they are. Taking
apart: members, counts and control numbers of one large interchange are found and checked, while ``bytes.split`` only finds
segments. Each figure is the least of several interleaved rounds of CPU time. ``bytes.split`` makes an object of every segment: it
is up to twice as fast where the process has the memory for them already, so with documents of 2 KB the ratio moves with that.
At last a gigabyte is written as a stream, and the memory that this took is told. Ends with 1 when a target is missed.
"""

from __future__ import annotations

import io
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pyx12.segment import Segment
from pyx12.x12file import X12Reader, X12Writer

from benchmarks.codecs import cpu_us
from postroad.core.interchange.model import Envelope
from postroad.core.interchange.x12 import assemble, split

ROUNDS = 9
PART = 10  # of a batch is enough for the other side, which would take minutes
GIGABYTE = 1_000_000_000
MAX_MEGABYTES = 200
LEAST_AGGREGATION = 20.0  # times as fast as pyx12
LEAST_SPLITTING = 0.5  # of the speed of bytes.split
ISA = "ISA*00*          *00*          *ZZ*MYBIZ          *ZZ*ACME           *261116*1200*U*00401*{:09d}*0*P*:~"
ENVELOPE = Envelope(sender="MYBIZ", receiver="ACME", at_us=1_794_830_400_000_000, options={"set_numbers": "group"})


class Row(NamedTuple):
    """Something done by us and by another, and how many times faster we are to be."""

    title: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    megabytes: float
    target: float | None


class Counting:
    """Control numbers from one on."""

    def __init__(self) -> None:
        self._drawn: Counter[str] = Counter()

    def next(self, scope: str) -> int:
        self._drawn[scope] += 1
        return self._drawn[scope]


# ---- documents -------------------------------------------------------------------------------------------------------


def order(number: int, size: int = 60) -> str:
    lines = "".join(
        f"PO1*{line}*{line * 12}*EA*{line}.95**BP*AB-{number:05d}-{line:02d}*VP*{line:08d}~PID*F****PENCIL, YELLOW, NO {line}~"
        for line in range(1, size + 1)
    )
    head = f"BEG*00*SA*PO-{number:08d}**20261116~REF*DP*038~N1*BY*MYBIZ CORPORATION*92*1234~N3*1 MAIN STREET~"
    return set_of("850", f"{head}{lines}CTT*{size}~")


def advice(number: int, size: int) -> str:
    claims = "".join(
        f"CLP*{number:06d}-{claim}*1*{claim}50*{claim}20*30*12*{claim:010d}~NM1*QC*1*DOE*JOHN****MI*{claim:09d}~"
        f"SVC*HC:99213*{claim}50*{claim}20**1~DTM*472*20261101~CAS*CO*45*30~"
        for claim in range(1, size + 1)
    )
    head = (
        f"BPR*I*1680*C*ACH*CCP*01*999999992*DA*123456*1512345678**01*999988880*DA*98765*20261116~TRN*1*{number:08d}*1~"
    )
    return set_of("835", f"{head}N1*PR*HEALTH PLAN~N1*PE*CLINIC*XX*1234567893~{claims}")


def set_of(kind: str, body: str) -> str:
    return f"ST*{kind}*0001~{body}SE*{body.count('~') + 2}*0001~"


def wrapped(written: str, number: int, group: str) -> str:
    return f"{ISA.format(number)}GS*{group}*MYBIZ*ACME*20261116*1200*{number}*X*004010~{written}GE*1*{number}~IEA*1*{number:09d}~"


# ---- both sides ------------------------------------------------------------------------------------------------------


def by_us(members: Sequence[bytes]) -> bytes:
    return b"".join(assemble(members, ENVELOPE, Counting()))


def by_pyx12(members: Sequence[str], group: str) -> str:
    written = io.StringIO()
    writer = X12Writer(written, "~", "*", ":", "")
    for text in (ISA.format(1).rstrip("~"), f"GS*{group}*MYBIZ*ACME*20261116*1200*1*X*004010"):
        writer.Write(Segment(text, "~", "*", ":"))
    for member in members:
        for segment in X12Reader(io.StringIO(member)):
            if segment.get_seg_id() not in ("ISA", "GS", "GE", "IEA"):
                writer.Write(segment)
    writer.close()
    return written.getvalue()


BATCHES = (
    ("850", "PO", order, 22, 1_000),
    ("850", "PO", order, 60, 1_000),
    ("835", "HP", advice, 14, 1_000),
    ("835", "HP", advice, 150, 100),
)


def rows() -> Iterator[Row]:
    kept = []  # so that memory stays with the process: ``bytes.split`` takes twice as long if it has to be asked for again
    for kind, group, document, lines, count in BATCHES:
        sets = [document(number, lines) for number in range(1, count + 1)]
        texts = [wrapped(one, number, group) for number, one in enumerate(sets, 1)]
        interchanges, ready = [one.encode() for one in texts], [one.encode() for one in sets]
        whole = by_us(interchanges)
        if whole.count(b"~") != by_pyx12(texts, group).count("~") or by_us(ready) != whole:
            raise AssertionError(f"{kind}: the two sides do not come to the same")
        size = len(whole) / 1e6
        title = f"{kind} of {len(whole) / count / 1000:.0f} KB"
        kept.append(whole.split(b"~")[::50])
        theirs = _call_pyx12(texts[: count // PART], group)
        yield Row(f"{title}: small interchanges into one", _call(by_us, interchanges), theirs, size, LEAST_AGGREGATION)
        yield Row(f"{title}: ready sets into one", _call(by_us, ready), theirs, size, LEAST_AGGREGATION)
        yield Row(f"{title}: one taken apart", _call(split, whole), _call(whole.split, b"~"), size, LEAST_SPLITTING)


def _call(work: Callable[..., object], given: object) -> Callable[[], object]:
    return lambda: work(given)


def _call_pyx12(few: Sequence[str], group: str) -> Callable[[], object]:
    return lambda: by_pyx12(few, group)


def least_us(row: Row, rounds: int) -> tuple[float, float]:
    """The CPU time for the whole batch on each side, in turn."""
    ours, theirs = float("inf"), float("inf")
    part = PART if row.target == LEAST_AGGREGATION else 1
    for _ in range(rounds):
        ours, theirs = min(ours, cpu_us(row.ours, 1)), min(theirs, cpu_us(row.theirs, 1) * part)
    return ours, theirs


# ---- a stream larger than memory -------------------------------------------------------------------------------------


def stream(size: int) -> tuple[float, float]:
    """How many megabytes were written, and how many more of memory the process has at its height."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    document = order(1).encode()
    written = sum(map(len, assemble((document for _ in range(size // len(document))), ENVELOPE, Counting())))
    return written / 1e6, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000


def main() -> int:
    quick = "--quick" in sys.argv
    megabytes, taken = stream(GIGABYTE // 20 if quick else GIGABYTE)
    missed = 0
    print(f"{'a batch':44} {'postroad':>12} {'':>12} {'the other':>12}")
    for row in rows():
        ours, theirs = least_us(row, 5 if quick else ROUNDS)
        ratio = theirs / ours
        holds = row.target is None or ratio >= row.target
        missed += not holds
        goal = f" {'✓' if holds else '✗'} (≥ {row.target:g})"
        speed = f"{ours / 1000:9.1f} ms {row.megabytes / ours * 1e6:7.0f} MB/s"
        print(f"{row.title:44} {speed} {theirs / 1000:9.1f} ms {ratio:7.2f}×{goal}")
    holds = taken < MAX_MEGABYTES
    print(
        f"{f'a stream of {megabytes:,.0f} MB':44} {taken:9.1f} MB of memory {'✓' if holds else '✗'} (< {MAX_MEGABYTES})"
    )
    return 1 if missed or not holds else 0


if __name__ == "__main__":
    sys.exit(main())
