"""``postroad as2``: keys that partners can use, and a trial that says what it found."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.config.as2 import As2Trial
from postroad.cli.commands.config.as2_keys import make_as2_key
from postroad.cli.commands.operate import health_checks
from postroad.cli.main import postroad
from postroad.core.codecs.as2 import As2Identity, PartnershipTerms
from postroad.core.codecs.cms import identities_from_pem
from postroad.core.model.directory import As2, Service
from postroad.core.model.snapshot import Directory

STEPS = ["document", "sent", "opened", "signature", "same document", "MDN", "its signature", "same MIC"]


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(postroad, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.req("T7")
def test_a_key_file_is_private_and_the_certificate_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "secrets" / "as2.pem"
    printed = run("as2", "key", "My Biz", "--out", file, "--days", "30")
    [identity] = identities_from_pem(file.read_bytes())
    assert file.stat().st_mode & 0o077 == 0
    certificate = x509.load_pem_x509_certificate(printed.encode())
    assert certificate == identity.certificate
    assert "PRIVATE" not in printed
    assert certificate.subject.rfc4514_string() == "CN=My Biz"
    assert timedelta(29) < certificate.not_valid_after_utc - datetime.now(UTC) <= timedelta(30)


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "as2.pem"
    file.write_text("dear")
    assert CliRunner().invoke(postroad, ["as2", "key", "My Biz", "--out", str(file)]).exit_code != 0
    assert file.read_text() == "dear"


def test_a_long_name_makes_a_certificate_too() -> None:
    assert make_as2_key("x" * 128, 1).identity.certificate.subject.rfc4514_string() == f"CN={'x' * 64}"


@pytest.mark.req("T7")
@pytest.mark.parametrize(
    "how",
    [
        (),
        ("--compress", "before", "--sign", "sha1"),
        ("--compress", "after", "--encrypt", "aes128-gcm"),
        ("--sign", "none", "--encrypt", "none", "--unsigned-mdn"),
        ("--unsigned-receipt",),  # its old name
    ],
)
def test_a_trial_shows_every_step(how: tuple[str, ...], tmp_path: Path) -> None:
    document = tmp_path / "order.xml"
    document.write_bytes(b"<order>\x00\n\r</order>")
    lines = run("as2", "test", *how, "--file", document, "--content-type", "application/xml", "--json").splitlines()
    steps = [json.loads(line) for line in lines]
    assert [step["step"] for step in steps] == STEPS
    assert all(step["ok"] for step in steps)
    assert run("as2", "test", *how).count("✓") == len(STEPS)


def test_a_trial_may_use_a_key_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "as2.pem"
    made = json.loads(run("as2", "key", "My Biz", "--out", file, "--json"))
    steps = [json.loads(line) for line in run("as2", "test", "--key", file, "--json").splitlines()]
    assert made["fingerprint"][:16] in steps[3]["detail"]


@pytest.mark.req("T7")
def test_a_receipt_by_somebody_else_is_seen() -> None:
    sender, receiver, other = (make_as2_key(name, 1).identity for name in ("sender", "receiver", "other"))
    identities = [
        As2Identity(name=name, identities=keys, certificates=(keys[-1].certificate,))
        for name, keys in (("sender", (sender,)), ("receiver", (receiver,)), ("receiver", (other, receiver)))
    ]  # the first key signs; the last one is what the others know
    for one, wrong in ((identities[1], []), (identities[2], ["its signature", "same MIC"])):
        trial = As2Trial(
            sender=identities[0],
            receiver=one,
            agreement=PartnershipTerms(),
            document=b"order",
            content_type="text/plain",
        )
        assert [step.what for step in trial.steps() if not step.ok] == wrong


@pytest.mark.req("T7")
def test_the_doctor_says_whose_key_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as2 = As2(name="ACME", own_name="My Biz", secret_from="file:as2.pem")
    service = Service(gcid="a" * 16, organization="Aster", name="Acme", as2=as2)

    async def stored(_: Settings) -> Directory:
        return Directory(services={service.gcid: service})

    monkeypatch.setattr("postroad.cli.framework.stores.load_directory", stored)
    settings, file = Settings(data=tmp_path), tmp_path / "push-secrets" / "Aster" / "as2.pem"
    missing = health_checks.check_as2(settings)
    assert missing.state == "warning"
    assert missing.detail.startswith("Aster/Acme: file:as2.pem")
    file.parent.mkdir(parents=True)
    file.write_text("no key")
    assert "no private key" in health_checks.check_as2(settings).detail
    file.unlink()
    run("as2", "key", "My Biz", "--out", file)
    assert health_checks.check_as2(settings) == ("as2", "ok", "the network's key is available for all partners (1)")
