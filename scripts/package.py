"""Builds a release into a folder: ``python -m scripts.package [FOLDER]``, which is what ``make package`` does.

The folder (``dist``) then holds the wheel, the source archive, the locked requirements, the bill of materials and SHA256SUMS.
Rule: the same commit gives the same archives, byte for byte, on every machine. Times in them are the commit's, or
SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from postroad import __version__
from scripts.bill_of_materials import LOCK, ROOT, render_bill

SUMS = "SHA256SUMS"


def commit_time(source: Path) -> str:
    """Return the time of the last commit in seconds; empty where the source is not a clone."""
    asked = ["git", "-C", str(source), "log", "-1", "--format=%ct"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def build_archives(folder: Path, source: Path = ROOT) -> None:
    """Write the wheel and the source archive."""
    stamped = os.environ.get("SOURCE_DATE_EPOCH") or commit_time(source)
    environment = os.environ | ({"SOURCE_DATE_EPOCH": stamped} if stamped else {})
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve())]
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of each file, in the format of sha256sum."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith(SUMS))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(lines))


def package(folder: Path) -> None:
    """Build everything into the folder, and remove what an earlier build left there."""
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in (*folder.glob("postroad-*"), *folder.glob(f"{SUMS}*")):
        earlier.unlink()
    build_archives(folder)
    shutil.copyfile(LOCK, folder / f"postroad-{__version__}-requirements.txt")
    (folder / f"postroad-{__version__}.cdx.json").write_text(render_bill())
    write_sums(folder)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    package(target)
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:>10,}  {path}")
