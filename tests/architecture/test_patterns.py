"""Regular expressions mean the same on every supported Python: nothing possessive or atomic but over a single character class."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from re import _compiler  # type: ignore[attr-defined]

import pytest

from tests.architecture import patterns
from tests.architecture.patterns import unsafe_literals, unsafe_parts
from tests.source_tree import ROOT, repository_files

SOURCES = [path for path in repository_files() if path.suffix == ".py"]
CHECK = Path(__file__)  # has such expressions on purpose


def test_no_literal_is_an_unsafe_expression_or_a_piece_of_one() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): unsafe
        for path in SOURCES
        if path != CHECK and (unsafe := unsafe_literals(path.read_text()))
    }
    assert found == {}


def test_no_expression_put_together_at_import_is_unsafe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.architecture.patterns"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:ab)*+",
        "(?:ab|c)++",
        "(?:ab)?+",
        "(?:ab){1,3}+",
        "(a)?+(?(1)b|c)",
        "x(?:y(?:ab)*+)?",
        "(?>ab)",
        rb"(?=(?:ab)*+)",
    ],
)
def test_the_check_sees_a_possessive_or_atomic_group(pattern: str | bytes) -> None:
    re.compile(pattern)
    assert unsafe_parts(pattern)
    assert unsafe_literals(f"compile({pattern!r})")


@pytest.mark.parametrize("source", ['"(?:" + name + ")?+"', 'rf"(?:{name}){{1,3}}+"', 'rb"(?>" + name + rb")"'])
def test_the_check_sees_a_piece_of_one(source: str) -> None:
    assert unsafe_literals(source)


def test_the_check_sees_one_that_is_put_together_and_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiler, "compile", _compiler.compile)  # restores it afterwards
    seen = patterns.watch_compiler()
    re.compile("".join(["(?:", "only here", "|", "x", ")", "*", "+"]))
    assert seen == [repr("(?:only here|x)*+")]


@pytest.mark.parametrize(
    "pattern",
    ["[^<]*+", "a++", r"\s*+", ".?+", r"[a-z]{1,3}+", r"(?:ab)*", r"(?:a*+b)+", r"\)*+", "!$&'()*+,;=", "LIN+1++4"],
)
def test_the_check_leaves_single_characters_alone(pattern: str) -> None:
    assert not unsafe_parts(pattern)
    assert not unsafe_literals(repr(pattern))
