"""The engine, the matcher and the specification agree: on random documents, header items and queries.

The engine evaluates each query alone. What it says must be one of the outcomes that the oracle finds permitted; the matcher may
differ from it only where several are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.core.codecs.xml import parse
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher
from postroad.ports import QueryVerdict
from tests.property.exchange_choices import (
    ENCODINGS,
    FRAMES,
    conditions,
    documents,
    element,
    encoded,
    headers,
    text,
)
from tests.property.exchange_oracle import (
    Compare,
    CompareOne,
    Condition,
    Converted,
    Exists,
    HeaderTest,
    Joined,
    Node,
    Not,
    Path,
    Position,
    Quantified,
    Step,
    permitted,
)

PROLOG = "declare namespace p = 'urn:p'; "
AT_ONCE = 8


class Engine:
    """The engine, for tests that do not wait."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._workers = SaxonWorkers()
        self._queries = SaxonQueries(self._workers)

    def evaluate(self, queries: list[str], content: bytes, header: dict[str, Any]) -> list[QueryVerdict]:
        return self._loop.run_until_complete(self._queries.evaluate(queries, content, "text/xml", header))

    def close(self) -> None:
        self._loop.run_until_complete(self._workers.close())
        self._loop.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    running = Engine()
    yield running
    running.close()


def outcome(verdict: QueryVerdict) -> str:
    return "T" if verdict.goes else "E" if verdict.error else "F"


def a(*tests: str) -> Path:
    return Path(tuple(Step(test) for test in tests))


MIXED = Node("document", children=[element(("", "r"), [], [element(("", "a"), [], [text(v, "")]) for v in ("7", "x")])])


@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        (Compare(a("r", "a"), ">", 5), "TE"),
        (Compare(a("r", "a"), ">", 9), "E"),
        (Compare(a("r", "a"), "=", "x"), "T"),
        (Compare(a("r", "b"), "=", "x"), "F"),
        (CompareOne(a("r", "a"), "eq", "x"), "E"),
        (Not(Compare(a("r", "a"), ">", 5)), "FE"),
        (Joined("and", (Compare(a("r", "a"), ">", 9), Compare(a("r"), "=", "x"))), "FE"),
        (Joined("or", (Compare(a("r", "a"), ">", 9), Compare(a("r"), "=", "7x"))), "TE"),
        (Quantified("every", a("r", "a"), Compare(Path((), "$v"), "=", 7)), "E"),
        (Quantified("every", a("r", "a"), Compare(Path((), "$v"), "=", 8)), "FE"),
        (Converted("xs:decimal", a("r", "b"), ">", 5), "F"),
        (Converted("number", a("r", "b"), "!=", 5), "T"),
        (Exists("exists", Path((Step("r"), Step("a", predicates=(Compare(Path((), "."), "=", 7),))))), "TE"),
        (Exists("exists", Path((Step("a", deep=True, predicates=(Position(2),)),))), "T"),
        (HeaderTest("n", "=", "1"), "E"),
        (HeaderTest("none", "=", "1"), "F"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.query,
)
def test_the_oracle_and_the_engine_on_what_is_known(engine: Engine, condition: Condition, allowed: str) -> None:
    assert permitted(condition, MIXED, {"n": 1}) == frozenset(allowed)
    [verdict] = engine.evaluate([PROLOG + condition.query], MIXED.markup.encode(), {"n": 1})
    assert outcome(verdict) in allowed


asked = st.lists(st.tuples(conditions, st.sampled_from(FRAMES)), min_size=1, max_size=AT_ONCE)
thorough = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.req("X1", "X5")
@thorough
@given(asked=asked, document=documents, header=headers, encoding=st.sampled_from(ENCODINGS))
def test_the_engine_says_what_the_specification_permits_and_the_matcher_what_the_engine_says(
    engine: Engine, asked: list[tuple[Condition, str]], document: Node, header: dict[str, Any], encoding: str
) -> None:
    queries = [PROLOG + frame.format(condition.query) for condition, frame in asked]
    content = encoded(document, encoding)
    matcher = Matcher()
    for key, query in enumerate(queries):
        matcher.bind(key, query)
    matches = matcher.match(MatchableMessage(headers=header, content=content, root=partial(parse, content)))
    verdicts = engine.evaluate(queries, content, header)
    for key, (condition, _) in enumerate(asked):
        allowed = permitted(condition, document, header)
        said = outcome(verdicts[key])
        case = (queries[key], document.markup, header, verdicts[key].error, str(matcher.explain(key)))
        assert said in allowed, case
        if key in matches.decided:
            assert said == "T", case
        elif key not in matches.candidates:
            assert allowed != {"T"}, case
        if len(allowed) == 1 and key not in matches.candidates:
            assert (key in matches.decided) == (said == "T"), case


@pytest.mark.parametrize(("query", "engines", "specifications"), [("/a > 10", "T", "F"), ("not(/a >= 10)", "F", "T")])
def test_the_engines_one_deviation_is_still_there(
    engine: Engine, query: str, engines: str, specifications: str
) -> None:
    """Saxon takes an untyped NaN for greater than any number; the matcher keeps to the specification. Known, and watched."""
    content = b"<a>NaN</a>"
    matcher = Matcher()
    matcher.bind(0, query)
    matches = matcher.match(MatchableMessage(headers={}, content=content, root=partial(parse, content)))
    assert outcome(engine.evaluate([query], content, {})[0]) == engines
    assert ("T" if 0 in matches.decided else "F") == specifications
