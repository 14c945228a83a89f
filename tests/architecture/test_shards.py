"""``make test`` runs the tests in several processes: every test is in one shard, and what one of them finds is not lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.run_tests import FOLDERS, ON_THE_OLDEST, Shard, run, shards
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


@pytest.mark.parametrize("broken", ["one", "two", "three"])
def test_a_failure_in_any_fails_the_whole_and_is_shown_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"test_{name}.py").write_text(f"def test_it():\n    assert {name != broken}\n")
    files = [Shard(name=name, arguments=[str(tmp_path / f"test_{name}.py")]) for name in ("one", "two", "three")]
    assert run(files, processes=2) == 1
    end = capsys.readouterr().out.split("\n\n")[-1]
    [failure] = [line for line in end.splitlines() if "FAILED " in line]
    assert f"/test_{broken}.py::test_it" in failure
    assert end.count("1 passed") == 2


def test_shards_that_pass_pass_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    assert run([Shard(name="one", arguments=[str(tmp_path)]), Shard(name="two", arguments=[str(tmp_path)])]) == 0
    assert capsys.readouterr().out.count("| 1 passed in") == 4


def test_the_summary_is_pytests_own_and_leak_reports_of_libraries_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leak = "import atexit\natexit.register(print, 'nanobind: leaked 3 types!\\n - leaked type \"x\"')\n"
    (tmp_path / "test_it.py").write_text(f"{leak}def test_it():\n    pass\n")
    assert run([Shard(name="one", arguments=[str(tmp_path)])]) == 0
    shown = capsys.readouterr().out
    assert "leaked" not in shown
    assert "one | 1 passed in" in shown.split("\n\n")[-1]
    assert shown.endswith("All shards passed.\n")


def test_a_shard_that_dies_is_named_with_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text("import os\ndef test_it():\n    os.kill(os.getpid(), 9)\n")
    assert run([Shard(name="one", arguments=[str(tmp_path)])]) == 1
    end = capsys.readouterr().out.split("\n\n")[-1]
    assert "one | ended without a summary" in end
    assert "exit code -9" in end
    assert end.endswith("Failed: one.\n")
