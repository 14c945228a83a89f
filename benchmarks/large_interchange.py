"""How much memory an interchange takes that is larger than it: assembled as a stream, from an iterator to a file.

    python -m benchmarks.large_interchange x12|edifact [--bulk] [--bytes N] [--folder FOLDER]

Orders of 2 KB are assembled while they are made up, and written to a file as they come. With ``--bulk`` they are put aside first,
then counted and written as one interchange with a row for each document, which is what a worker of `postroad bulk batch` does.
Prints one line of JSON: documents, bytes and seconds, and the memory of the process before and at most. Ends with 1 when that is
more than 200 MB; with ``--bulk``, when the work takes more than 200 MB beside what Arrow and pandas have taken already.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from postroad.core.interchange.model import Envelope
from postroad.core.interchange.numbering import NumberDrawing, NumberingParties
from postroad.core.interchange.standard import BUILT_IN

MAX_BYTES = 200_000_000  # of memory
NOON_US = 1_794_830_400_000_000
LINES = 26


def purchase_order(number: int) -> bytes:
    lines = "".join(
        f"PO1*{line}*{line * 12}*EA*{line}.95**BP*400000{line:07d}~PID*F****PENCIL, YELLOW, NO {line}~"
        for line in range(1, LINES + 1)
    )
    return f"ST*850*{number:06d}~BEG*00*SA*PO{number:08d}**20261116~{lines}CTT*{LINES}~SE*{LINES * 2 + 4}*{number:06d}~".encode()


def orders_message(number: int) -> bytes:
    lines = "".join(
        f"LIN+{line}++400000{line:07d}:EN'IMD+F++:::PENCIL YELLOW NO {line}'QTY+21:{line * 12}'"
        for line in range(1, LINES + 1)
    )
    return f"UNH+{number}+ORDERS:D:96A:UN'BGM+220+PO{number:08d}+9'{lines}UNS+S'UNT+{LINES * 3 + 4}+{number}'".encode()


ORDERS: dict[str, Callable[[int], bytes]] = {"x12": purchase_order, "edifact": orders_message}


def documents(standard: str, size: int) -> Iterator[bytes]:
    number = 0
    while size > 0:
        number += 1
        document = ORDERS[standard](number)
        size -= len(document)
        yield document


def most_memory() -> int:
    """As this program has had it: what is told of its process as a whole may be of whoever started it."""
    told = Path("/proc/self/status").read_text()
    return int(told.split("VmHWM:")[1].split()[0]) * 1024


def streamed(standard: str, size: int, folder: Path) -> tuple[int, int]:
    """Documents and bytes of an interchange that was written while its documents were made up."""
    assemble = BUILT_IN.standard(standard).assemble
    if assemble is None:
        raise ValueError(f"{standard} cannot be assembled")
    count = 0

    def counted() -> Iterator[bytes]:
        nonlocal count
        for document in documents(standard, size):
            count += 1
            yield document

    drawing = NumberDrawing(NumberingParties("MyBiz", standard, "MYBIZ", "ACME"), {})
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON_US)
    with (folder / "interchange").open("wb") as target:
        written = sum(map(target.write, assemble(counted(), envelope, drawing)))
    return count, written


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("standard", choices=ORDERS)
    parser.add_argument("--bulk", action="store_true")
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--folder")
    asked = parser.parse_args(arguments)
    if asked.bulk:
        from benchmarks.large_interchange_bulk import in_bulk, warmed_up

        warmed_up()
    before, began = most_memory(), time.monotonic()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        count, written = (in_bulk if asked.bulk else streamed)(asked.standard, asked.bytes, Path(folder))
    most, seconds = most_memory(), round(time.monotonic() - began, 1)
    told = {"documents": count, "bytes": written, "seconds": seconds, "memory_before": before, "memory_most": most}
    print(json.dumps({"standard": asked.standard, "bulk": asked.bulk} | told))
    return int(most - (before if asked.bulk else 0) > MAX_BYTES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
