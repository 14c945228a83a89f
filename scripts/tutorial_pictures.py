"""Makes the pictures of the tutorial's page about the console again: ``python -m scripts.tutorial_pictures``.

They are taken by the test that walks the page in a browser; here they only become small.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "tutorial" / "pictures"
WALK = "tests/console/test_tutorial.py::test_the_tutorial_can_be_followed"
COLOURS = 64


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", WALK]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"POSTROAD_PICTURES": folder}, check=False)
        taken = sorted(Path(folder, "tutorial").glob("*.png"))
        if not taken:
            sys.exit("the walk took no picture; run its test and mend it first")
        PICTURES.mkdir(exist_ok=True)
        for file in PICTURES.glob("*.png"):
            file.unlink()
        for file in taken:
            Image.open(file).convert("RGB").quantize(COLOURS).save(PICTURES / file.name, optimize=True)
    print(f"{len(taken)} pictures, {sum(file.stat().st_size for file in PICTURES.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
