"""The example of evening orders, as somebody runs it who reads its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples.served_network import clean_environment
from tests.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "evening-orders"


@pytest.mark.req("B1", "B6", "B7", "B10")
def test_the_example_prints_what_its_page_shows(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE / "play.py"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^```text\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert done.stdout == shown[1]
