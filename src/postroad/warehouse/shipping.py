"""The package itself as a file that Spark sends to the workers of a cluster.

Kept rule: workers run exactly the code of the driver. What the package needs besides (msgspec, pyarrow, lxml …) must be on the
workers already, or come with a packed environment; ``docs/howto/run-on-a-cluster.md`` says how.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import postroad

SKIPPED = "__pycache__"


def packed_package(folder: Path) -> Path:
    """Write ``postroad.zip`` into the folder: every file of the package as it is here."""
    root = Path(postroad.__file__).parent
    target = folder / "postroad.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and SKIPPED not in path.parts:
                archive.write(path, Path(root.name) / path.relative_to(root))
    return target
