"""Secrets by reference: each service its own, and nothing else on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.adapters.secrets import OperatorsSecrets
from postroad.core.model.directory import Service
from postroad.errors import Misconfigured

GCID = "0123456789abcdef"
ACME = Service(gcid=GCID, organization="Acme", name="Inbox")
OWN = f"PUSH_SECRET_{GCID.upper()}"
ENVIRONMENT = {OWN: " mine\n", f"{OWN}_OLD": "older", "PUSH_SECRET_FFFFFFFFFFFFFFFF": "theirs", "PATH": "/bin"}


@pytest.fixture
def secrets(tmp_path: Path) -> OperatorsSecrets:
    folder = tmp_path / "push-secrets"
    for organization in ("Acme", "Acme Two", "Birch"):
        (folder / organization / "deeper").mkdir(parents=True)
        (folder / organization / "hook").write_text(f"secret of {organization}\n")
    (folder / "Acme" / "empty").write_text("\n")
    (folder / "Acme" / "binary").write_bytes(b"\xff\xfe\x00")
    (folder / "Acme" / "deeper" / "hook").write_text("deep")
    (folder / "Acme" / "way-out").symlink_to(folder / "Birch" / "hook")
    return OperatorsSecrets(folder, ENVIRONMENT)


@pytest.mark.parametrize(
    ("reference", "secret"),
    [
        ("file:hook", "secret of Acme"),
        ("file:deeper/hook", "deep"),
        (f"env:{OWN}", "mine"),
        (f"env:{OWN}_OLD", "older"),
    ],
)
def test_a_service_has_its_own(secrets: OperatorsSecrets, reference: str, secret: str) -> None:
    assert secrets.secret(ACME, reference) == secret


@pytest.mark.req("Z4")
@pytest.mark.parametrize(
    "reference",
    [
        "file:../Birch/hook",
        "file:../Acme Two/hook",
        "file:deeper/../../Birch/hook",
        "file:/etc/passwd",
        "file:way-out",
        "file:",
        "file:.",
        "file:missing",
        "file:empty",
        "file:binary",
        "env:PATH",
        "env:PUSH_SECRET_FFFFFFFFFFFFFFFF",
        f"env:{OWN}_MISSING",
        "env:",
        "",
        "hook",
    ],
)
def test_what_is_not_its_own_or_not_there_is_told_without_showing_it(secrets: OperatorsSecrets, reference: str) -> None:
    with pytest.raises(Misconfigured) as told:
        secrets.secret(ACME, reference)
    assert "theirs" not in str(told.value)
    assert "secret of" not in str(told.value)


def test_a_certificate_is_a_file(secrets: OperatorsSecrets) -> None:
    assert Path(secrets.file(ACME, "file:hook")).read_text() == "secret of Acme\n"
    with pytest.raises(Misconfigured, match="file"):
        secrets.file(ACME, f"env:{OWN}")
