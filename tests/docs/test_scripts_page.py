"""The page on scripts: its examples do what it says, its limits are the code's, and it leaves nothing out."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, SPARE_OUTPUT_BYTES
from postroad.adapters.confined.pool import DEADLINE_S, MEMORY_BYTES
from postroad.adapters.scripts.scripts import (
    LARGEST_CONTENT_BYTES,
    MAX_ELEMENTS,
    MAX_VALUES,
    ScriptWorkers,
    StarlarkScripts,
)
from postroad.ports import QueryEngine, QueryVerdict
from tests.source_tree import ROOT

pytestmark = [pytest.mark.docs, pytest.mark.asyncio(loop_scope="module")]

PAGE = (ROOT / "docs" / "reference" / "scripts.md").read_text()
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MEDIA_TYPES = {"xml": "application/xml", "json": "application/json", "csv": "text/csv"}


class Example(NamedTuple):
    title: str
    headers: dict[str, str]
    media_type: str
    content: str
    script: str
    result: QueryVerdict


def examples() -> list[Example]:
    return [example(section) for section in PAGE.partition("## Examples\n")[2].split("\n### ")[1:]]


def example(section: str) -> Example:
    title, _, text = section.partition("\n")
    headers = re.search(r"<!-- headers: (.*) -->", text)
    (kind, content), (_, script), *results = FENCE.findall(text)
    assert headers is not None
    result = made(*results[0]) if results else QueryVerdict(goes="is forwarded unchanged" in text)
    return Example(title, json.loads(headers[1]), MEDIA_TYPES[kind], content, script, result)


def made(kind: str, text: str) -> QueryVerdict:
    return QueryVerdict(goes=True, content=text.rstrip("\n").encode(), media_type=MEDIA_TYPES[kind])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[QueryEngine]:
    workers = ScriptWorkers()
    yield StarlarkScripts(workers)
    await workers.close()


def rows(heading: str) -> set[str]:
    """What stands in code in the first column of the table with that heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `([^`]+)`", table, re.MULTILINE))


@pytest.mark.req("X4")
@pytest.mark.parametrize("shown", examples(), ids=lambda shown: shown.title)
async def test_every_example_does_what_the_page_says(engine: QueryEngine, shown: Example) -> None:
    await engine.check(shown.script)
    given = await engine.evaluate([shown.script], shown.content.encode(), shown.media_type, shown.headers)
    assert given == [shown.result]


async def test_the_first_script_decides(engine: QueryEngine) -> None:
    first = FENCE.findall(PAGE)[0][1]
    for region in ("EU", "US"):
        assert await engine.evaluate([first], b"", "", {"region": region}) == [QueryVerdict(goes=region == "EU")]


async def seen(engine: QueryEngine, expression: str) -> set[str]:
    [given] = await engine.evaluate([f"def route(message): return dir({expression})"], b"<a/>", "text/xml", {})
    return set(json.loads(given.content or b""))


async def test_everything_that_a_script_sees_is_explained(engine: QueryEngine) -> None:
    assert await seen(engine, "message") == rows("Attribute of `message`")
    assert await seen(engine, "message.xml") == {
        name.removesuffix("(path)") for name in rows("Attribute of an element")
    }


async def test_the_limits_are_those_of_the_code() -> None:
    for limit in (
        f"more than {LARGEST_CONTENT_BYTES >> 20} MiB",
        f"more than {MAX_VALUES:,} values",
        f"more than {MAX_ELEMENTS:,} elements",
        f"for at most {DEADLINE_S:g} seconds in at most {MEMORY_BYTES >> 20} MiB",
        f"{LARGEST_SOURCE_BYTES >> 10} KiB of source and make twice the content and {SPARE_OUTPUT_BYTES >> 20} MiB",
    ):
        assert limit in PAGE


async def test_calls_and_json_are_as_deep_as_the_page_says(engine: QueryEngine) -> None:
    [depth] = re.findall(r"calls functions up to (\d+) deep", PAGE)
    deep = "def down(n): return True if n == 0 else down(n - 1)\ndef route(message): return down({})"
    good, bad = await engine.evaluate([deep.format(int(depth) - 10), deep.format(int(depth))], b"", "", {})
    assert (good.goes, bad.goes) == (True, False)
    [levels] = re.findall(r"nested deeper than (\d+)", PAGE)
    for more in (0, 1):
        nested = b"[" * (int(levels) + more) + b"]" * (int(levels) + more)
        [given] = await engine.evaluate(["def route(m): return m.json != None"], nested, "application/json", {})
        assert given.goes is (more == 0)
