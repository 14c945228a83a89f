"""Network levels: the table is complete and never changes below the newest release, and unreadable entries are explained."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from postroad.core.model import configuration_objects
from postroad.core.model.journal import KINDS, AccessRecorded, ConfigurationChanged, Entry, ObjectChange, encode
from postroad.core.model.level import (
    FIRST,
    LEVEL_KEY,
    LEVEL_KIND,
    LEVELS,
    NEWEST,
    LevelTooHigh,
    NetworkLevel,
    can_write,
    newest_level,
    read_level,
    require_level,
    require_readable,
)
from postroad.core.model.snapshot import Directory
from postroad.core.projection.project import project
from postroad.errors import Misconfigured, Refused
from tests.source_tree import PACKAGE

KEPT_ELSEWHERE = {"address"}  # a claim on a name, which is only a key

# The number of fields of each kind when levels were introduced. A kind never has fewer.
FIELDS_AT_FIRST = {
    "message.posted": 29,
    "message.refused": 16,
    "invocation.returned": 22,
    "delivery.leased": 4,
    "delivery.acknowledged": 5,
    "delivery.returned": 5,
    "delivery.ended": 8,
    "configuration.changed": 4,
    "access.recorded": 4,
    "crossreference.changed": 7,
    "delivery.attempted": 8,
    "delivery.resent": 16,
    "delivery.dropped": 4,
    "delivery.translated": 6,
    "delivery.released": 6,
    "batch.changed": 8,
    "interchange.answered": 8,
}


def test_every_kind_of_entry_has_a_level() -> None:
    assert sorted(KINDS) == sorted(kind for level in LEVELS for kind in level.entries)


def test_every_kind_of_object_has_a_level() -> None:
    known = {*configuration_objects.KINDS, *KEPT_ELSEWHERE}
    assert sorted(known) == sorted(kind for level in LEVELS for kind in level.objects)


def test_levels_are_numbered_from_one_without_gaps() -> None:
    assert [level.number for level in LEVELS] == list(range(FIRST, NEWEST + 1))


def test_listed_fields_exist() -> None:
    kinds = {str(kind.__struct_config__.tag): kind for kind in Entry.__args__}
    for level in LEVELS:
        for kind, field in (name.rsplit(".", 1) for name in level.fields):
            assert field in kinds[kind].__struct_fields__


def test_the_first_level_keeps_its_fields() -> None:
    fields = {str(kind.__struct_config__.tag): len(kind.__struct_fields__) for kind in Entry.__args__}
    assert LEVELS[0].entries == FIELDS_AT_FIRST.keys()
    assert {kind: count for kind, count in FIELDS_AT_FIRST.items() if fields[kind] < count} == {}


def test_a_field_added_at_the_end_is_ignored_by_a_version_that_does_not_know_it() -> None:
    entry = AccessRecorded(1, "a@b.example", "login")
    longer = msgspec.msgpack.encode([*msgspec.msgpack.decode(encode(entry)), "a new field"])
    assert project([(1, longer, None)]) == project([(1, encode(entry), None)])


def test_a_kind_above_the_level_is_refused() -> None:
    require_level(2, "invoice.issued", "message.posted")
    with pytest.raises(Refused, match="level 2, and the network is at level 1") as refused:
        require_level(1, "message.posted", "invoice.issued")
    assert refused.value.code == "network.level-too-low"
    assert (can_write(1, "message.posted"), can_write(1, "invoice.issued")) == (True, False)


def test_an_unlisted_name_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        require_level(NEWEST, "message.psoted")


def raised_to(level: int, **more: Any) -> ObjectChange:
    return ObjectChange(LEVEL_KIND, LEVEL_KEY, 1, {"level": level, **more})


def test_the_directory_has_the_level_of_the_object() -> None:
    assert Directory().apply_changes([raised_to(1)], 1).level == 1
    assert Directory().apply_changes([raised_to(1)], 1).apply_changes([raised_to(2)], 2).level == 2


def test_a_level_that_a_later_version_wrote_can_be_explained() -> None:
    read = read_level({"level": 99, "release": "9.9", "unknown": ["to", "us"]})
    assert read == NetworkLevel(level=99, release="9.9")
    with pytest.raises(
        LevelTooHigh, match=r"level 99, which needs postroad 9\.9 or later; this is postroad .* Start the"
    ):
        require_readable(read)
    require_readable(newest_level())


def test_an_index_stops_at_the_entry_that_raises_the_level_too_high() -> None:
    entry = ConfigurationChanged(1, "o@p.example", "", (raised_to(99, release="9.9"),))
    with pytest.raises(LevelTooHigh, match=r"needs postroad 9\.9 or later"):
        project([(1, encode(entry), None)])
    assert project([(1, encode(ConfigurationChanged(1, "o@p.example", "", (raised_to(NEWEST),))), None)])


def test_an_unknown_kind_at_or_below_the_level_is_an_error() -> None:
    with pytest.raises(
        Misconfigured, match=r"entry 7 has the kind 'moon\.landed', which no network level up to"
    ) as found:
        project([(7, msgspec.msgpack.encode(["moon.landed", 1]), None)])
    assert not isinstance(found.value, LevelTooHigh)


@pytest.mark.parametrize(
    "facts", [b"\xc1", msgspec.msgpack.encode(["access.recorded", "?"]), msgspec.msgpack.encode([])]
)
def test_a_damaged_entry_is_an_error(facts: bytes) -> None:
    with pytest.raises((ValueError, Misconfigured), match="damaged"):
        project([(7, facts, None)])


CHECKED_WHEN_RECORDED = {"invoice.issued", "invoice.credited", "payment.recorded", "secret.changed"}  # by Configuration


def test_who_writes_a_new_kind_checks_the_level() -> None:
    sources = [path.read_text() for path in PACKAGE.rglob("*.py")]
    names = {name for level in LEVELS[1:] for name in level.entries | level.fields} - CHECKED_WHEN_RECORDED
    assert [name for name in sorted(names) if not is_checked(name, sources)] == []


def is_checked(name: str, sources: list[str]) -> bool:
    call = re.compile(rf"\b(?:require_level|can_write)\((?:[^()]|\([^()]*\))*\"{re.escape(name)}\"")
    return any(call.search(source) for source in sources)


def test_a_missing_check_is_found() -> None:
    assert is_checked("secret.changed", ['require_level(self.directory().level, "secret.changed")'])
    assert not is_checked("secret.changed", ['tag="secret.changed"', "require_level(level)"])
