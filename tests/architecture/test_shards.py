"""``make test`` runs the tests in several processes: every test is in one shard, and what one of them finds is not lost."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.run_tests import FOLDERS, ON_THE_OLDEST, Shard, run, shards
from tests.conftest import MAX_EXAMPLES, OWN_SETTINGS, limit_examples
from tests.source_tree import ROOT

NONE = Path("/nonexistent/python")


def test_every_folder_is_in_one_shard() -> None:
    named = [folder for folders in FOLDERS.values() for folder in folders]
    *_, rest = shards(NONE)
    assert rest.arguments == ["tests", *(f"--ignore={folder}" for folder in named)]
    assert len(named) == len(set(named))
    assert [folder for folder in (*named, *ON_THE_OLDEST) if not (ROOT / folder).exists()] == []


def test_messages_and_formats_are_tested_on_the_oldest_python_too() -> None:
    added = [shard for shard in shards(Path(sys.executable)) if shard not in shards(NONE)]
    folders = {argument for shard in added for argument in shard.arguments if not argument.startswith("-")}
    assert folders == {"tests/unit", "tests/property", "tests/interop"}
    assert {shard.python for shard in added} == {sys.executable}


def shard_of(tmp_path: Path, name: str, program: str) -> Shard:
    (tmp_path / f"test_{name}.py").write_text(program)
    return Shard(name=name, arguments=[str(tmp_path / f"test_{name}.py")])


def summary_of(shown: str) -> str:
    """Return what is printed after all shards have ended."""
    return shown[shown.index("\nshard ") :]


def test_a_failure_in_any_fails_the_whole_and_is_shown_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = shard_of(tmp_path, "good", "def test_it():\n    pass\n")
    bad = shard_of(tmp_path, "bad", "def test_it():\n    print('printed\\n' * 50)\n    assert False, 'it is bad'\n")
    assert run([bad, good], processes=2) == 1
    shown = capsys.readouterr().out
    [failure] = [line for line in summary_of(shown).splitlines() if " - " in line]
    assert failure.startswith("bad | ")
    assert failure.endswith("test_bad.py::test_it - AssertionError: it is bad")
    assert "bad | E       AssertionError: it is bad" in shown
    assert "bad | printed\n" * 50 in shown, "its report is in one piece"
    *_, plain, timed = shown.splitlines()
    assert plain == "1 passed, 1 failed, 0 skipped"
    assert re.fullmatch(re.escape(plain) + r" in \d+ s", timed)


def test_all_that_passed_and_was_skipped_is_counted_over_all_shards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = "import time\ndef test_slow():\n    time.sleep(0.2)\n\n"
    slow += "class TestIt:\n    def test_in_class(self):\n        pass\n"
    skipped = (
        "import pytest\n@pytest.mark.skip(reason='not here')\ndef test_it():\n    pass\ndef test_other():\n    pass\n"
    )
    assert run([shard_of(tmp_path, "one", slow), shard_of(tmp_path, "two", skipped)]) == 0
    shown = capsys.readouterr().out
    end = summary_of(shown).splitlines()
    assert [line.split()[:4] for line in end if line.startswith(("one ", "two "))] == [
        ["one", "2", "0", "0"],
        ["two", "1", "0", "1"],
    ]
    slowest = end[end.index("The slowest tests:") + 1 :]
    assert slowest[0].endswith("test_one.py::test_slow")
    assert any(line.endswith("test_one.py::TestIt::test_in_class") for line in slowest)
    assert end[-2] == "3 passed, 0 failed, 1 skipped"


def test_leak_reports_of_libraries_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leak = "import atexit\natexit.register(print, 'nanobind: leaked 3 types!\\n - leaked type \"x\"')\n"
    assert run([shard_of(tmp_path, "one", f"{leak}def test_it():\n    pass\n")]) == 0
    assert "leaked" not in capsys.readouterr().out


def test_a_shard_that_dies_is_named_with_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "import os\ndef test_it():\n    os.kill(os.getpid(), 9)\n"
    assert run([shard_of(tmp_path, "one", program)]) == 1
    end = summary_of(capsys.readouterr().out)
    assert "one | pytest ended with exit code -9" in end
    assert "\n0 passed, 1 failed, 0 skipped in" in end


def test_a_shard_that_cannot_be_collected_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([shard_of(tmp_path, "one", "import no_such_module\n")]) == 1
    end = summary_of(capsys.readouterr().out)
    assert "one | " in end
    assert "\n0 passed, 1 failed, 0 skipped in" in end


@pytest.mark.parametrize(
    ("own", "few", "tried"), [(1000, False, MAX_EXAMPLES), (1000, True, 30), (5, False, 5), (5, True, 5)]
)
def test_a_property_is_tried_with_a_limited_number_of_examples(own: int, few: bool, tried: int) -> None:
    @settings(max_examples=own)
    @given(st.none())
    def holds(nothing: None) -> None: ...

    limit_examples([cast(pytest.Item, SimpleNamespace(function=holds))], few=few)
    assert getattr(holds, OWN_SETTINGS).max_examples == tried
