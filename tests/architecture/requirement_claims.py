"""Which requirements exist, and which of those that tests claim to prove do not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_name("requirements.txt")


def known_requirements() -> list[str]:
    """The specification's ids, in its order."""
    return [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


def false_claims(claims: Iterable[tuple[str, tuple[object, ...]]]) -> list[str]:
    """Of (test, ids) pairs, a line for each id that does not exist and each claim that names none."""
    known = set(known_requirements())
    return sorted({f"{test}: {named!r}" for test, ids in claims for named in ids or ("(no id)",) if named not in known})
