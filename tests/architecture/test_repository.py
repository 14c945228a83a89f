"""What may not stand in any committed file: addresses of package registries, and paths outside the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.source_tree import ROOT, repository_files

# Written in pieces, so that this file does not find itself.
REGISTRIES = (
    "py" + "pi.org",
    "python" + "hosted.org",
    "npm" + "js.",
    "registry" + ".yarn",
    "repo1." + "maven",
    "/opt/" + "pypi",
)
MACHINE = re.compile(
    "|".join(
        (
            "/wo" + r"rk/(?:main|shared|\.)",
            r"(?<!\w)/tm" + r"p/\w",
            "/ro" + r"ot/\.",
            "/Us" + r"ers/\w",
            r"/ho" + r"me/\w+/",
            "sha" + r"red/(?:studies|seeds|spec|design)",
        )
    )
)


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="ignore")


def faults(text: str) -> list[str]:
    named = [registry for registry in REGISTRIES if registry in text.lower()]
    return named + MACHINE.findall(text)


def test_no_file_names_a_registry_or_a_path_of_a_machine() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): listed for path in repository_files() if (listed := faults(text_of(path)))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "https://" + "py" + "pi.org/simple",
        "see /wo" + "rk/main/src",
        "in /tm" + "p/x",
        "/ro" + "ot/.cache",
        "/ho" + "me/ann/x",
    ],
)
def test_the_check_sees_what_it_forbids(text: str) -> None:
    assert faults(text)


def test_continuous_integration_can_run_its_script() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text()
