"""The lock files pin everything by content: every package with hashes, nothing by address, versions agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.source_tree import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)(?:\[[^]]*\])?==(\S+)(?: ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")
NAME = re.compile(r"^[A-Za-z0-9._-]+")


def pins(lock: Path) -> dict[str, str]:
    return {match[1]: match[2] for line in lock.read_text().splitlines() if (match := PIN.match(line))}


def declared(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(item for extra in extras for item in project["optional-dependencies"][extra])]
    return {re.sub(r"[._]", "-", match[0].lower()) for item in wanted if (match := NAME.match(item))}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_has_only_pins_and_each_pin_has_hashes(lock: Path) -> None:
    lines = lock.read_text().splitlines()
    assert [line for line in lines if not PIN.match(line) and not HASH.match(line)] == []
    followers = [after for line, after in zip(lines, [*lines[1:], ""], strict=True) if PIN.match(line)]
    assert followers
    assert all(HASH.match(after) for after in followers)


def test_locks_cover_what_the_project_declares() -> None:
    assert declared() | {"hatchling"} <= pins(ROOT / "requirements" / "run.txt").keys()
    assert declared("dev") | {"hatchling"} <= pins(ROOT / "requirements" / "dev.txt").keys()


def test_what_is_tested_is_what_is_run() -> None:
    run, dev = pins(ROOT / "requirements" / "run.txt"), pins(ROOT / "requirements" / "dev.txt")
    assert {name: version for name, version in run.items() if dev.get(name) != version} == {}
