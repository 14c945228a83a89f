"""Runs cases of the W3C's XQuery test suite through bindings, and says how they fared.

    git clone --depth 1 https://github.com/w3c/qt3tests
    python -m tests.interop.qt3_suite qt3tests

Every query is bound in a matcher and asked about its document as the message. What the exchange would do (the matcher's
decision, or the engine's for a candidate) and what the engine says by itself must both be what the suite permits.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.core.codecs.xml import parse
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher, MatchResult
from postroad.errors import Refused
from postroad.ports import QueryEngine, QueryVerdict
from tests.interop.qt3_cases import Case, read_suite
from tests.interop.qt3_variants import variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    case: Case
    who: str  # "matcher" or "engine"
    said: str
    explained: str

    def __str__(self) -> str:
        wanted = "goes" if True in self.case.permitted else "does not go"
        return f"{self.case.name}: {self.who} says {self.said}, expected {wanted}; {self.explained}\n    {self.case.text!r}"


@dataclass(slots=True, kw_only=True)
class Summary:
    left_out: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    refused: int = 0  # when bound, as the suite wants it
    standings: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)  # of the prefiltered: whether the condition was met
    disagreements: list[Disagreement] = field(default_factory=list)

    def __str__(self) -> str:
        standings = ", ".join(f"{count} {standing}" for standing, count in self.standings.most_common())
        met = ", ".join(f"{count} {what}" for what, count in self.undecided.most_common())
        lines = [
            f"{self.asked} queries asked: {standings}, {self.refused} refused as they should be",
            f"prefiltered: {met or 'none'}",
            f"{len(self.disagreements)} disagreed",
            *(f"  {one}" for one in self.disagreements),
            f"{self.left_out.total()} cases left out:",
            *(f"  {count:5} {reason}" for reason, count in self.left_out.most_common()),
        ]
        return "\n".join(lines)


async def run(cases: Iterable[Case], engine: QueryEngine) -> Summary:
    by_document: dict[bytes, list[Case]] = defaultdict(list)
    summary = Summary()
    for case in cases:
        by_document[case.document].append(case)
    for document, about_it in by_document.items():
        summary.asked += len(about_it)
        verdicts = await engine.evaluate([case.text for case in about_it], document, "application/xml", {})
        bound = [
            (case, verdict)
            for case, verdict in zip(about_it, verdicts, strict=True)
            if not (verdict.error and await _is_refused(case, engine, summary))
        ]
        _compare(document, bound, summary)
    return summary


async def _is_refused(case: Case, engine: QueryEngine, summary: Summary) -> bool:
    """Whether it never comes to a binding, since the query does not compile."""
    try:
        await engine.check(case.text)
    except Refused as fault:
        if False in case.permitted:
            summary.refused += 1
        else:
            summary.disagreements.append(Disagreement(case=case, who="engine", said="refused", explained=fault.detail))
        return True
    return False


def _compare(document: bytes, bound: list[tuple[Case, QueryVerdict]], summary: Summary) -> None:
    matcher = Matcher()
    for case, _ in bound:
        matcher.bind(case.name, case.text)
    matches = matcher.match(MatchableMessage(headers={}, content=document, root=partial(parse, document)))
    for case, verdict in bound:
        explanation = matcher.explain(case.name)
        summary.standings[explanation.standing.value] += 1
        if explanation.standing.value == "prefiltered":
            summary.undecided["met" if case.name in matches.candidates else "not met"] += 1
        for who, goes in (("matcher", _goes(case, matches, verdict)), ("engine", verdict.goes)):
            if goes not in case.permitted:
                said = verdict.error or ("goes" if goes else "does not go")
                explained = str(explanation)
                summary.disagreements.append(Disagreement(case=case, who=who, said=said, explained=explained))


def _goes(case: Case, matches: MatchResult, verdict: QueryVerdict) -> bool:
    return verdict.goes if case.name in matches.candidates else case.name in matches.decided


async def run_suite(folder: Path) -> Summary:
    suite = read_suite(folder)
    workers = SaxonWorkers()
    try:
        summary = await run((one for case in suite.cases for one in variants(case)), SaxonQueries(workers))
    finally:
        await workers.close()
    summary.left_out.update(suite.left_out.values())
    return summary


if __name__ == "__main__":
    print(asyncio.run(run_suite(Path(sys.argv[1]))))
