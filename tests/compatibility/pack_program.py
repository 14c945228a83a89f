"""Packs the program of an earlier version: ``python -m tests.compatibility.pack_program COMMIT``.

The archive in ``programs/`` has server, command line and SDK, without the warehouse, ``postroad.testing`` and files of others
that the console serves. Tests start it beside the current version. Rule: it comes from the history of this repository, unchanged.
It is kept in the repository because source archives and shallow clones have no history.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile

from tests.samples.earlier_program import PROGRAMS
from tests.source_tree import ROOT

LEFT_OUT = ("src/postroad/warehouse/", "src/postroad/testing/", "src/postroad/console/static/vendor/")


def main(commit: str) -> None:
    """Write ``programs/VERSION-COMMIT.tar.xz``."""
    archived = subprocess.run(["git", "archive", commit, "src/postroad"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as whole:
        files = {
            member.name: whole.extractfile(member).read()  # type: ignore[union-attr]
            for member in whole
            if member.isfile() and not member.name.startswith(LEFT_OUT)
        }
    found = re.search(rb'__version__ = "([^"]+)"', files["src/postroad/__init__.py"])
    if found is None:
        sys.exit(f"{commit} has no version")
    PROGRAMS.mkdir(exist_ok=True)
    target = PROGRAMS / f"{found[1].decode()}-{commit[:8]}.tar.xz"
    with tarfile.open(target, "w:xz", preset=9) as packed:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(files[name]), 0o644
            packed.addfile(member, io.BytesIO(files[name]))
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
