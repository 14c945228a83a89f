"""The engine and the matcher agree about JSON documents: on random ones, bare values and null among them, and random queries.

Where a comparison finds both a value that passes and an error, XQuery permits either; the matcher then leaves it to the engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.core.codecs.xml import Tree
from postroad.core.exchange.match.json_documents import read_json
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher
from postroad.ports import QueryVerdict

values = st.sampled_from(["x", "y", "", "5", 5, 0, 7.25, True, False, None])
names = st.sampled_from(["a", "b", "c"])
inner = st.recursive(
    values,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=3),
    max_leaves=10,
)
documents = st.dictionaries(names, inner, min_size=1, max_size=3) | st.lists(inner, min_size=1, max_size=3) | values
lookups = st.sampled_from(["?a", "?a", "?b", "?c", "?*", "?1", "?2"])
paths = st.lists(lookups, min_size=1, max_size=3).map(lambda found: "$msg" + "".join(found))
signs = st.sampled_from(["=", "=", "!=", "<", ">=", "eq", "ne", "gt"])
constants = st.sampled_from(["'x'", "'y'", "''", "'5'", "5", "0", "7.25", "5e0", "true()", "('x', 'y')"])
tests = st.sampled_from(["contains", "starts-with", "ends-with"])
inner_tests = st.sampled_from([".", "?a", "?b", "?*"]).flatmap(
    lambda path: st.builds("{} {} {}".format, st.just(path), signs, constants) | st.just(f"exists({path})")
)
filtered = st.builds("{}[{}]{}".format, paths, inner_tests, st.sampled_from(["", "", "?a", "?*"]))
anything = paths | paths | filtered
atoms = (
    st.builds("{} {} {}".format, anything, signs, constants)
    | st.builds("{}({}, {})".format, tests, anything, st.sampled_from(["'x'", "''", "'5'"]))
    | st.builds("{}({})".format, st.sampled_from(["exists", "empty", "not", "boolean"]), anything)
    | st.builds("count({}) {} {}".format, anything, st.sampled_from(["=", ">", "<="]), st.sampled_from(["0", "1", "2"]))
    | st.builds("({} $v in {} satisfies $v{} {} {})".format, st.sampled_from(["some", "every"]), paths,
                st.sampled_from(["", "?a", "?*"]), signs, constants)
    | st.sampled_from(["/a", "not(/a)", "$msg = 'x'", "contains($msg, 'x')", "count($msg) = 1", "$h = 'x'"])
    | st.builds("{}({})".format, st.sampled_from(["exists", "empty", "not", "boolean"]), st.sampled_from(["$msg", "."]))
    | st.builds("{} {} {}".format, st.sampled_from(["$msg", ".", "?a", "$msg[true()]"]), signs, constants)
    | st.sampled_from(["count($msg) = 0", "count($msg[true()]) = 0", "empty(?a)", "some $v in $msg satisfies $v = 'x'",
                       "every $v in $msg satisfies $v?a = 'x'"])
)  # fmt: skip
conditions = st.recursive(
    atoms,
    lambda below: (
        st.builds("({} and {})".format, below, below)
        | st.builds("({} or {})".format, below, below)
        | st.builds("not({})".format, below)
    ),
    max_leaves=3,
)
queries = (
    conditions | conditions | st.builds("if ({}) then $msg else ()".format, conditions)
    | st.builds("$msg[{}]".format, conditions) | st.builds("let $v := {} return $v {} {}".format, anything, signs, constants)
    | st.builds("for $v in {} where $v = 'x' return $v".format, paths) | anything
    | st.sampled_from(["$msg", ".", "let $m := $msg return $m = 'x'", "for $m in $msg return $m", "not(not($msg))"])
)  # fmt: skip


class Engine:
    """The engine, for tests that do not wait."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._workers = SaxonWorkers()
        self._queries = SaxonQueries(self._workers)

    def evaluate(self, asked: list[str], content: bytes) -> list[QueryVerdict]:
        return self._loop.run_until_complete(self._queries.evaluate(asked, content, "application/json", {"h": "x"}))

    def close(self) -> None:
        self._loop.run_until_complete(self._workers.close())
        self._loop.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    running = Engine()
    yield running
    running.close()


def no_root() -> Tree:
    raise AssertionError("JSON has no root")


@pytest.mark.req("X10", "X5")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(asked=st.lists(queries, min_size=1, max_size=12), document=documents)
@example(asked=["$h = 'x'", "not($msg?a)", "empty($msg)", "exists($msg)", "empty(?a)", "not(.)"], document=None)
def test_the_matcher_says_what_the_engine_says(engine: Engine, asked: list[str], document: Any) -> None:
    content = json.dumps(document).encode()
    matcher = Matcher()
    for key, query in enumerate(asked):
        matcher.bind(key, query)
    message = MatchableMessage(headers={"h": "x"}, content=content, root=no_root, json=partial(read_json, content))
    matches = matcher.match(message)
    for key, verdict in enumerate(engine.evaluate(asked, content)):
        case = (asked[key], content, verdict, str(matcher.explain(key)))
        if verdict.goes:
            assert key in matches.decided | matches.candidates, case
            assert verdict.content is None or key in matches.candidates, case
        else:
            assert key not in matches.decided, case
