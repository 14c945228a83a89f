"""The systemd units: systemd accepts them, they give up every privilege they can, and they start commands that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postroad.cli.main import ENTRIES
from tests.samples.served_network import served, succeeded
from tests.source_tree import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
INSTALLED = "/opt/postroad/bin/postroad"
MAX_EXPOSURE = 20  # tenths: 2.0
COMMAND = re.compile(rf"^ExecStart={INSTALLED} (.+)$", re.MULTILINE)
ANALYZE = shutil.which("systemd-analyze")

needs_systemd = pytest.mark.skipif(
    ANALYZE is None, reason="systemd-analyze is missing; `scripts/ensure-systemd-analyze` installs it on Debian as root"
)


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(ANALYZE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def name_of(unit: Path) -> str:
    return unit.name


def install(units: list[Path], folder: Path) -> list[Path]:
    """Copy the units as they are installed, with a program that exists on this machine."""
    for unit in units:
        (folder / unit.name).write_text(unit.read_text().replace(INSTALLED, sys.executable))
    return sorted(folder.iterdir())


@needs_systemd
@pytest.mark.req("O7")
def test_systemd_accepts_all_units(tmp_path: Path) -> None:
    checked = analyze("verify", "--man=no", *install(UNITS, tmp_path))
    assert (checked.returncode, checked.stderr) == (0, "")


@needs_systemd
def test_a_mistake_in_a_unit_is_found(tmp_path: Path) -> None:
    [unit] = install([ROOT / "deploy" / "systemd" / "postroad.service"], tmp_path)
    unit.write_text(unit.read_text().replace("Type=notify", "Type=notfy"))
    assert "service type" in analyze("verify", "--man=no", unit).stderr


@needs_systemd
@pytest.mark.req("O7")
@pytest.mark.parametrize("unit", SERVICES, ids=name_of)
def test_the_exposure_is_at_most_two(unit: Path) -> None:
    checked = analyze("security", "--offline=true", "--no-pager", f"--threshold={MAX_EXPOSURE}", unit)
    assert checked.returncode == 0, checked.stdout[-300:]


@needs_systemd
def test_a_unit_with_privileges_exceeds_the_exposure(tmp_path: Path) -> None:
    unit = tmp_path / "open.service"
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    checked = analyze("security", "--offline=true", "--no-pager", f"--threshold={MAX_EXPOSURE}", unit)
    assert checked.returncode != 0


@pytest.mark.parametrize("unit", SERVICES, ids=name_of)
def test_the_command_exists(unit: Path) -> None:
    assert words_of(unit)[0] in ENTRIES


@pytest.mark.req("O6", "O7")
def test_the_backup_and_its_check_do_what_their_units_say(tmp_path: Path) -> None:
    """With the arguments, the environment and the working directory of the units; the settings are in a file there."""
    (tmp_path / "postroad.toml").write_text("least_free_bytes = 1048576\n")
    with served(tmp_path / "data"):
        for name, told in (("backup", "head"), ("verify", "entries in the index")):
            words = words_of(ROOT / "deploy" / "systemd" / f"postroad-{name}.service")
            assert words.pop() == "${BACKUP_FOLDER}"
            environment = {"POSTROAD_DATA": str(tmp_path / "data")}
            found = succeeded(*words, tmp_path / "copy", cwd=tmp_path, environment=environment)
            assert told in found
            assert "not compared with an index" not in found
    assert (tmp_path / "copy" / "backup.json").exists()
    assert (tmp_path / "data" / "backup-status.json").exists()


def words_of(unit: Path) -> list[str]:
    """Return the command and its arguments."""
    [line] = COMMAND.findall(unit.read_text())
    return str(line).split()


def test_every_timer_starts_a_service() -> None:
    timers = [unit for unit in UNITS if unit.suffix == ".timer"]
    assert len(timers) == 2
    assert [timer.with_suffix(".service").exists() for timer in timers] == [True, True]
