"""Options agreed on with a partner: camelCase names in documents, snake_case names in the standards.

Documents use camelCase, as everywhere; the standards use lower case with underscores. Rule: a written option is read
back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field, StrictStr, StringConstraints

OptionName = Annotated[StrictStr, StringConstraints(max_length=100, pattern=r"^[a-z]([A-Za-z0-9]|_[0-9])*$")]
OptionText = Annotated[StrictStr, StringConstraints(max_length=4_000)]
OptionsEntry = Annotated[dict[OptionName, OptionText], Field(max_length=100, default_factory=dict)]

_CAPITAL = re.compile(r"[A-Z]")
_LETTER_BEHIND = re.compile(r"_([a-z])")


def option_name(written: str) -> str:
    """Return the name that the standard uses."""
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", written)


def written_name(name: str) -> str:
    """Return the name that people write."""
    return _LETTER_BEHIND.sub(lambda found: found[1].upper(), name)


def options_of(entry: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the options ordered by name."""
    return tuple(sorted((option_name(name), text) for name, text in entry.items()))


def options_entry(facts: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {written_name(name): text for name, text in facts}
