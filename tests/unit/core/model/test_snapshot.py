"""Snapshots of the directory: what one hands on to the next is what the next would find out itself."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.journal import ObjectChange
from postroad.core.model.rule import (
    ActionKind,
    Comparing,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from postroad.core.model.snapshot import Directory

OWNERS = ("00000000000000a1", "00000000000000b2", "00000000000000c3")
NAMES = ("one", "Two", "three", "four")
WHEN = ValueComparison(operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="topic"))
STOP = RuleAction(kind=ActionKind.STOP_RULE_EVALUATION)


def rule(owner: str, name: str, place: int) -> Rule:
    return Rule(service=owner, name=name, place=place, role=RuleRole.ANY, when=WHEN, then=(STOP,))


def asset(owner: str, name: str, number: int) -> Asset:
    return Asset(service=owner, kind=list(AssetKind)[number], name=name, content=f"{name} {number}")


@st.composite
def changes(draw: st.DrawFn) -> ObjectChange:
    make = draw(st.sampled_from([rule, rule, asset]))
    item: Any = make(draw(st.sampled_from(OWNERS)), draw(st.sampled_from(NAMES)), draw(st.integers(0, 2)))
    return ObjectChange(*object_key(item), 1, None if draw(st.booleans()) else msgspec.to_builtins(item))


def owned(directory: Directory) -> list[Any]:
    return [(directory.rules_of(owner), directory.assets_of(owner)) for owner in OWNERS]


@given(st.lists(st.tuples(st.lists(changes(), max_size=6), st.booleans()), max_size=6))
def test_who_owns_what_is_the_same_whether_handed_on_or_found_out_anew(
    steps: list[tuple[list[ObjectChange], bool]],
) -> None:
    asked, never_asked = Directory(), Directory()
    for version, (several, asks) in enumerate(steps, 1):
        before = owned(asked) if asks else None
        following = asked.apply_changes(several, version)
        assert before is None or owned(asked) == before
        asked, never_asked = following, never_asked.apply_changes(several, version)
    assert owned(asked) == owned(never_asked)
