"""Faults of form are told in words that need no knowledge of the library that finds them."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.configuration.document import read_document


@pytest.mark.parametrize(
    ("service", "place", "said"),
    [
        ({"credentials": {"key": "x"}}, "/credentials", "must be a list"),
        ({"topic": "x"}, "/topic", "is not known here; check its spelling and its section"),
        (
            {"description": 5},
            "/description",
            "must be text; put values that look like a number, a date or true in quotes",
        ),
        ({"defaultExpirationSeconds": "60"}, "/defaultExpirationSeconds", "must be a whole number, without quotes"),
        ({"push": 5}, "/push", "must be"),
        ({"delivery": "carrier pigeon"}, "/delivery", "must be 'poll' or 'push'"),
        ({"gcid": "12"}, "/gcid", "must be a GCID: 16 digits of 0-9 and a-f"),
    ],
)
def test_what_is_wrong_is_told_plainly(service: dict[str, Any], place: str, said: str) -> None:
    faults = read_document({"postroad": 1, "organizations": {"Oak": {"services": {"Supply": service}}}})
    assert isinstance(faults, list)
    [fault] = [one for one in faults if one.pointer.startswith(f"/organizations/Oak/services/Supply{place}")]
    assert fault.detail.startswith(said)
    assert not any(word in fault.detail for word in ("Input", "tuple", "dictionary", "inputs"))


def test_a_name_that_cannot_be_one_is_told_what_names_consist_of() -> None:
    faults = read_document({"postroad": 1, "organizations": {"Oak/Elm": {}}})
    assert isinstance(faults, list)
    assert any("must begin with a letter or digit and continue with letters" in fault.detail for fault in faults), (
        faults
    )
