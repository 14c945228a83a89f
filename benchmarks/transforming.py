"""What a transform costs: the round trip to a warm worker and back for an order of 2 KB, and the start of a worker.

    python -m benchmarks.transforming
    python -m benchmarks transforming

The round trip is wall time, the median of many; beside it stands what a worker's answer alone costs, with a stylesheet that does
nothing, so that the engine's share can be told from the way there and back.
"""

from __future__ import annotations

import asyncio
import statistics
import time

import uvloop

from benchmarks.codecs import order
from postroad.adapters.saxon.workers import SaxonWorkers

STARTS = 5
CALLS = 2_000
CALLERS = 20

HEAD = (
    '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
    'xpath-default-namespace="urn:example:order"><xsl:output omit-xml-declaration="yes"/>'
)
NOTHING = f'{HEAD}<xsl:template match="/"><o/></xsl:template></xsl:stylesheet>'
INVOICE = (
    f'{HEAD}<xsl:param name="rate" select="2"/><xsl:template match="/po"><invoice to="{{buyer}}"><xsl:for-each select="item">'
    '<line sku="{sku}" amount="{quantity * $rate}"><xsl:value-of select="normalize-space(note)"/></line>'
    "</xsl:for-each></invoice></xsl:template></xsl:stylesheet>"
)


async def start_ms() -> float:
    workers = SaxonWorkers()
    started = time.perf_counter()
    await workers.warm()
    took = time.perf_counter() - started
    await workers.close()
    return took * 1e3


async def round_trips_us(workers: SaxonWorkers, stylesheet: str, document: bytes) -> list[float]:
    took = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await workers.transform(stylesheet, document, {"rate": "3"})
        took.append((time.perf_counter() - started) * 1e6)
    return sorted(took)


async def shared_us(workers: SaxonWorkers, document: bytes) -> float:
    """What a call costs when many callers keep the worker busy."""
    started = time.perf_counter()
    for _ in range(CALLS // CALLERS):
        await asyncio.gather(*(workers.transform(INVOICE, document, {"rate": "3"}) for _ in range(CALLERS)))
    return (time.perf_counter() - started) / CALLS * 1e6


async def measure() -> None:
    starts = [await start_ms() for _ in range(STARTS)]
    print(f"{'worker started, until it is confined':58} {statistics.median(starts):8.1f} ms")
    document = order(16)
    workers = SaxonWorkers()
    try:
        for name, stylesheet in (("an empty result", NOTHING), ("an invoice", INVOICE)):
            took = await round_trips_us(workers, stylesheet, document)
            print(f"{f'order of {len(document)} bytes made into {name}, median':58} {statistics.median(took):8.1f} µs")
            print(f"{'    of 100 the slowest but one':58} {took[int(len(took) * 0.99)]:8.1f} µs")
        print(
            f"{f'the invoice, {CALLERS} callers and one worker, a call':58} {await shared_us(workers, document):8.1f} µs"
        )
    finally:
        await workers.close()


if __name__ == "__main__":
    uvloop.run(measure())
