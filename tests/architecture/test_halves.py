"""``make test`` runs the tests in two processes: what one of them finds is not lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.test_in_two import HALVES, SECOND, run
from tests.architecture.source_tree import ROOT


def test_every_folder_is_in_one_of_the_halves() -> None:
    first, *left_out = HALVES["1"]
    assert first == "tests"
    assert left_out == [f"--ignore={folder}" for folder in HALVES["2"]]
    assert [folder for folder in SECOND if not (ROOT / folder).is_dir()] == []


@pytest.mark.parametrize("broken_half", ["one", "two"])
def test_a_failure_in_either_fails_the_whole_and_is_shown_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken_half: str
) -> None:
    for half in ("one", "two"):
        (tmp_path / f"test_{half}.py").write_text(f"def test_it():\n    assert {half != broken_half}\n")
    files = {half: (str(tmp_path / f"test_{half}.py"),) for half in ("one", "two")}
    assert run(files) == 1
    end = capsys.readouterr().out.split("\n\n")[-1]
    [failure] = [line for line in end.splitlines() if "FAILED " in line]
    assert f"/test_{broken_half}.py::test_it" in failure
    assert "1 passed" in end
