"""The last success of backups and verifications: noted by two programs at the same time, and on a full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from postroad.adapters.journal.backup.status import STATUS_FILE, BackupStatus, Success, note_success, read_status

NOTES = 150
PROGRAM = """
import sys
from pathlib import Path
from postroad.adapters.journal.backup.status import Success, note_success, read_status
data, what, notes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(1, notes + 1):
    note_success(data, **{what: Success(at=float(number), entry=number, folder="/backup")})
    noted = getattr(read_status(data), what)
    assert noted is not None and noted.entry == number, (number, noted)
"""


def test_two_programs_lose_no_success_of_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    programs = [
        subprocess.Popen([*command, what, str(NOTES)], stderr=subprocess.PIPE, text=True)
        for what in ("backup", "verify")
    ]
    errors = [program.communicate()[1] for program in programs]
    assert errors == ["", ""]
    last = Success(at=float(NOTES), entry=NOTES, folder="/backup")
    assert read_status(tmp_path) == BackupStatus(backup=last, verify=last, first_backup_at=1.0)
    assert [path.name for path in tmp_path.iterdir()] == [STATUS_FILE]


def test_a_success_that_cannot_be_noted_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / STATUS_FILE).mkdir()
    with pytest.raises(OSError, match="directory"):
        note_success(tmp_path, backup=Success(at=1.0, entry=1, folder="/backup"))
    (tmp_path / STATUS_FILE).rmdir()
    (tmp_path / f"{STATUS_FILE}.4711.part").write_text("of a program that was killed")
    note_success(tmp_path, backup=Success(at=1.0, entry=1, folder="/backup"))
    assert [path.name for path in tmp_path.iterdir()] == [STATUS_FILE]
