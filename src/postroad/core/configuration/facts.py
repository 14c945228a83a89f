"""What is agreed on with a partner besides what every standard has: names and texts, as the standard's room takes them.

People write the names in camelCase, as everything else; rooms know them in small letters with underscores. Kept rule: what is
written back is what was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field, StrictStr, StringConstraints

FactName = Annotated[StrictStr, StringConstraints(max_length=100, pattern=r"^[a-z]([A-Za-z0-9]|_[0-9])*$")]
FactText = Annotated[StrictStr, StringConstraints(max_length=4_000)]
FactsEntry = Annotated[dict[FactName, FactText], Field(max_length=100, default_factory=dict)]

_CAPITAL = re.compile(r"[A-Z]")
_LETTER_BEHIND = re.compile(r"_([a-z])")


def fact_name(written: str) -> str:
    """The name as rooms know it."""
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", written)


def written_name(name: str) -> str:
    """The name as people write it."""
    return _LETTER_BEHIND.sub(lambda found: found[1].upper(), name)


def facts_of(entry: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """In the order of names, so that it does not matter in which they were written."""
    return tuple(sorted((fact_name(name), text) for name, text in entry.items()))


def facts_entry(facts: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {written_name(name): text for name, text in facts}
