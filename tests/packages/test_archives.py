"""The wheel and the source archive have everything, and the same tree always gives the same bytes."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from postroad import __version__
from scripts.package import build_archives, commit_time, write_sums
from tests.samples.installed_wheel import build_wheel
from tests.source_tree import PACKAGE, ROOT, repository_files

WHEEL, ARCHIVE = f"postroad-{__version__}-py3-none-any.whl", f"postroad-{__version__}.tar.gz"
NOT_ARCHIVED = (".ci/", ".editorconfig", ".dockerignore")  # of the clone, and of nobody who has only the archive


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build_wheel(folder)
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    with zipfile.ZipFile(built / WHEEL) as wheel:
        return email.message_from_bytes(wheel.read(f"postroad-{__version__}.dist-info/METADATA"))


def test_the_wheel_has_every_file_of_the_package(built: Path) -> None:
    with zipfile.ZipFile(built / WHEEL) as wheel:
        names = {name for name in wheel.namelist() if not name.startswith(f"postroad-{__version__}.dist-info/")}
    source = {path.relative_to(PACKAGE.parent).as_posix() for path in repository_files() if PACKAGE in path.parents}
    assert names == source
    assert {"postroad/py.typed", "postroad/console/templates/base.html"} <= names


def test_the_source_archive_has_every_file_that_the_make_targets_need(built: Path) -> None:
    with tarfile.open(built / ARCHIVE) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tree = {path.relative_to(ROOT).as_posix() for path in repository_files()}
    assert sorted(name for name in tree - names if not name.startswith(NOT_ARCHIVED)) == []
    assert sorted(names - tree) == ["PKG-INFO"]


def test_the_same_tree_gives_the_same_bytes(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy with other times and permissions, built under another umask."""
    for path in repository_files():
        copy = tmp_path / "copy" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy, follow_symlinks=False)
        if not copy.is_symlink():
            copy.chmod(0o700 if path.stat().st_mode & 0o111 else 0o600)
            os.utime(copy, (1, 1))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", commit_time(ROOT))
    before = os.umask(0o077)
    try:
        build_archives(tmp_path / "dist", tmp_path / "copy")
    finally:
        os.umask(before)
    for name in (WHEEL, ARCHIVE):
        assert (tmp_path / "dist" / name).read_bytes() == (built / name).read_bytes(), name


def test_the_source_archive_builds_the_same_wheel(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tarfile.open(built / ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", commit_time(ROOT))
    build_archives(tmp_path / "dist", tmp_path / f"postroad-{__version__}")
    assert (tmp_path / "dist" / WHEEL).read_bytes() == (built / WHEEL).read_bytes()


def test_the_metadata_is_complete(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("postroad", __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "LICENSES-VENDORED"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert "warehouse" in metadata.get_all("Provides-Extra", [])


def test_the_license_files_are_in_the_wheel(built: Path) -> None:
    with zipfile.ZipFile(built / WHEEL) as wheel:
        for name in ("LICENSE", "LICENSES-VENDORED"):
            assert wheel.read(f"postroad-{__version__}.dist-info/licenses/{name}") == (ROOT / name).read_bytes()


def test_every_vendored_file_has_its_license_in_the_wheel() -> None:
    text = (ROOT / "LICENSES-VENDORED").read_text()
    vendored = [path.name for path in (PACKAGE / "console" / "static" / "vendor").iterdir()]
    assert vendored
    assert [name for name in vendored if name not in text] == []


def test_the_program_is_an_entry_point(built: Path) -> None:
    with zipfile.ZipFile(built / WHEEL) as wheel:
        entry_points = wheel.read(f"postroad-{__version__}.dist-info/entry_points.txt").decode()
    assert "postroad = postroad.cli.main:main" in entry_points


def test_the_description_renders_without_the_repository(metadata: Message) -> None:
    """A package index shows it alone, so a link into the repository would lead nowhere."""
    assert metadata["Description-Content-Type"] == "text/markdown"
    html = MarkdownIt("commonmark").render(str(metadata.get_payload()))
    assert "<h1>postroad</h1>" in html
    assert html.count("<pre><code") == 3
    assert re.findall(r'(?:href|src)="(?!https://)[^"]*"', html) == []


def test_the_sums_are_those_of_the_files(built: Path) -> None:
    write_sums(built)
    checked = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=built, capture_output=True, text=True, check=False
    )
    assert checked.stdout.splitlines() == [f"{WHEEL}: OK", f"{ARCHIVE}: OK"]
    (built / ARCHIVE).write_bytes(b"another archive")
    changed = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=built, capture_output=True, text=True, check=False
    )
    assert changed.returncode == 1


@pytest.mark.parametrize("name", ["docs/operate/install.md", "deploy/Containerfile", "deploy/compose.yaml"])
def test_what_operators_copy_names_this_version(name: str) -> None:
    text = (ROOT / name).read_text()
    assert set(re.findall(r"postroad[-: ](\d+\.\d+\.\d+)", text)) == {__version__}
