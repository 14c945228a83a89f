"""Links between documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.source_tree import ROOT, repository_files

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
DOCUMENTS = [path for path in repository_files() if path.suffix == ".md"]


def anchors(text: str) -> set[str]:
    """The anchors that headings make: lower case, words joined by hyphens, punctuation gone."""
    headings = re.findall(r"^#{1,6}\s+(.+?)\s*#*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(document: Path, text: str) -> list[str]:
    targets = [target for target in LINK.findall(CODE.sub("", text)) if not re.match(r"[a-z][a-z0-9+.-]*:", target)]
    return [target for target in targets if not leads_somewhere(document, text, unquote(target))]


def leads_somewhere(document: Path, text: str, target: str) -> bool:
    file, _, anchor = target.partition("#")
    found = (document.parent / file).resolve() if file else document
    if not found.exists():
        return False
    linked_text = found.read_text() if file and found.suffix == ".md" else text
    return not anchor or found.suffix != ".md" or anchor in anchors(linked_text)


@pytest.mark.docs
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(document: Path) -> None:
    assert broken_links(document, document.read_text()) == []


@pytest.mark.docs
def test_the_check_sees_a_broken_link() -> None:
    text = "# Here now\n[a](nowhere.md) [b](#here-now) [c](#there) [d](https://example.org) `[e](code.md)`"
    assert broken_links(ROOT / "CONTRIBUTING.md", text) == ["nowhere.md", "#there"]
