"""What scripts of bindings cost: the start of a worker, and an order of 3 KB shown to one script and to a hundred.

    python -m benchmarks.scripting
    python -m benchmarks scripting

Times are wall time for the round trip to a warm worker and back, the median of many. Beside one script stands what a hundred cost
for each, since the message is made once for all of them.
"""

from __future__ import annotations

import json
import statistics
import time

import uvloop

from benchmarks.codecs import order
from postroad.adapters.scripts.scripts import ScriptWorkers, StarlarkScripts
from postroad.ports import ItemValue

STARTS = 5
CALLS = 500
MANY = 100
LINES = 22
HEADERS: dict[str, ItemValue] = {"region": "EU", "routing_key": "orders.new", "amount": 12.5}

BY_HEADER = (
    "def route(message):\n    return message.headers['region'] == 'EU' and message.routing_key == 'orders.new'\n"
)
BY_XML = """
def route(message):
    pieces = 0
    for item in message.xml.find_all("item"):
        pieces += int(item.value("quantity"))
    return pieces > 100
"""
BY_JSON = """
def route(message):
    pieces = 0
    for item in message.json["items"]:
        pieces += item["quantity"]
    return pieces > 100
"""


def json_order() -> bytes:
    """Of about the same size as the one in XML."""
    note = "described at length, line by line, as buyers like it"
    items = [{"id": n, "sku": f"AB-{n:04d}", "quantity": n, "note": note} for n in range(LINES)]
    return json.dumps({"buyer": "MyBiz", "items": items}).encode()


async def start_ms() -> float:
    workers = ScriptWorkers()
    started = time.perf_counter()
    await workers.warm()
    took = time.perf_counter() - started
    await workers.close()
    return took * 1e3


async def round_trip_us(engine: StarlarkScripts, scripts: list[str], content: bytes, media_type: str) -> float:
    took = []
    for _ in range(CALLS // len(scripts) + 10):
        started = time.perf_counter()
        verdicts = await engine.evaluate(scripts, content, media_type, HEADERS)
        took.append((time.perf_counter() - started) * 1e6)
        if not all(verdict.goes for verdict in verdicts):
            raise AssertionError(f"every script should have said yes: {verdicts[0]}")
    return statistics.median(took)


async def measure() -> None:
    starts = [await start_ms() for _ in range(STARTS)]
    print(f"{'worker started, until it is confined':64} {statistics.median(starts):8.1f} ms")
    workers = ScriptWorkers()
    engine = StarlarkScripts(workers)
    xml, values = order(LINES), json_order()
    cases = [
        ("text", BY_HEADER, b"x" * len(xml), "text/plain"),
        ("XML", BY_XML, xml, "application/xml"),
        ("JSON", BY_JSON, values, "application/json"),
    ]
    try:
        for name, script, content, media_type in cases:
            one = await round_trip_us(engine, [script], content, media_type)
            many = await round_trip_us(engine, [f"{script}# {n}" for n in range(MANY)], content, media_type)
            print(f"{f'{name} of {len(content)} bytes and one script, median':64} {one:8.1f} µs")
            print(f"{f'    and {MANY} scripts, each':64} {many / MANY:8.1f} µs")
    finally:
        await workers.close()


if __name__ == "__main__":
    uvloop.run(measure())
