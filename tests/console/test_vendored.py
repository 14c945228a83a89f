"""What others wrote and the console ships is what they published, and nothing is loaded from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from importlib.resources import files

import pytest

CONSOLE = files("postroad.console")
TEMPLATES = sorted(item.name for item in CONSOLE.joinpath("templates").iterdir())
INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|hx-on|javascript:|\bjs:|https?://(?!www\.w3\.org)"
)


def test_vendored_files_are_those_that_were_published() -> None:
    listed = tomllib.loads(CONSOLE.joinpath("VENDOR.toml").read_text())
    vendored = {item.name: item.read_bytes() for item in CONSOLE.joinpath("static", "vendor").iterdir()}
    assert vendored.keys() == listed.keys()
    for name, content in vendored.items():
        digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert digest == listed[name]["sha384"], f"{name} is not what {listed[name]['package']} published"


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_holds_what_the_policy_would_stop(name: str) -> None:
    text = CONSOLE.joinpath("templates", name).read_text()
    assert not INLINE.findall(text)
