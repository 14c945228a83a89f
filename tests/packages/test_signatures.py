"""A release is signed with an SSH key, and the documented check finds every change of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.package import write_sums
from tests.source_tree import ROOT

VERIFY = (
    "ssh-keygen -Y verify -f allowed_signers -I releases@postroad -n postroad-release -s SHA256SUMS.sig < SHA256SUMS"
    " && sha256sum --check --quiet SHA256SUMS"
)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)


def make_key(path: Path) -> str:
    """Make a throw-away key, and return its public half."""
    made = run(f"ssh-keygen -q -t ed25519 -N '' -C throw-away -f {path}", path.parent)
    assert made.returncode == 0, made.stderr
    return path.with_suffix(".pub").read_text()


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    release = tmp_path / "dist"
    release.mkdir()
    (release / "postroad-1.0-py3-none-any.whl").write_bytes(b"the wheel")
    write_sums(release)
    (release / "allowed_signers").write_text(f"releases@postroad {make_key(tmp_path / 'key')}")
    done = run(f"sh scripts/sign {tmp_path / 'key'} {release}", ROOT)
    assert done.returncode == 0, done.stderr
    return release


def test_a_signed_release_is_verified(signed: Path) -> None:
    done = run(VERIFY, signed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Good "postroad-release" signature for releases@postroad' in done.stdout


def test_a_changed_file_is_found(signed: Path) -> None:
    (signed / "postroad-1.0-py3-none-any.whl").write_bytes(b"another wheel")
    assert run(VERIFY, signed).returncode != 0


def test_changed_sums_are_found(signed: Path) -> None:
    (signed / "postroad-1.0-py3-none-any.whl").write_bytes(b"another wheel")
    write_sums(signed)
    done = run(VERIFY, signed)
    assert done.returncode != 0
    assert "Good" not in done.stdout


def test_the_signature_of_another_key_is_refused(signed: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    assert run(f"sh scripts/sign {tmp_path / 'other'} {signed}", ROOT).returncode == 0
    assert run(VERIFY, signed).returncode != 0


def test_a_release_that_does_not_match_its_sums_is_not_signed(signed: Path, tmp_path: Path) -> None:
    (signed / "postroad-1.0-py3-none-any.whl").write_bytes(b"another wheel")
    assert run(f"sh scripts/sign {tmp_path / 'key'} {signed}", ROOT).returncode != 0


def test_the_page_shows_the_command_that_is_tested() -> None:
    page = " ".join(
        (ROOT / "docs" / "operate" / "install.md").read_text().replace("\n> ", " ").replace("\\", "").split()
    )
    assert all(part in page for part in VERIFY.split(" && "))
