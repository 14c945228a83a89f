"""The list of requirements is well formed, and a claim of one that does not exist is seen."""

from __future__ import annotations

import re

from tests.architecture.requirement_claims import false_claims, known_requirements


def test_ids_are_unique_and_numbered_without_gaps_in_each_area() -> None:
    known = known_requirements()
    assert len(known) == len(set(known))
    areas: dict[str, list[int]] = {}
    for requirement in known:
        match = re.fullmatch(r"([A-Z])(\d+)", requirement)
        assert match, requirement
        areas.setdefault(match[1], []).append(int(match[2]))
    assert {
        area: numbers for area, numbers in areas.items() if sorted(numbers) != list(range(1, len(numbers) + 1))
    } == {}
    assert set("NMRDSTBXHAPEFCKOZ") == set(areas)


def test_false_claims_are_named_with_their_test() -> None:
    claims = [("a.py::good", ("M5", "Z1")), ("a.py::typo", ("M55",)), ("a.py::empty", ()), ("a.py::number", (5,))]
    assert false_claims(claims) == ["a.py::empty: '(no id)'", "a.py::number: 5", "a.py::typo: 'M55'"]
