"""Push settings are checked before the first message depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.adapters.secrets import OperatorsSecrets
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push_checker import PushChecker
from postroad.core.model.directory import DeliveryMode, Push, PushAuthentication, Service

GCID = "0123456789abcdef"


def faults(
    tmp_path: Path,
    push: Push,
    *,
    private: tuple[str, ...] = (),
    http: tuple[str, ...] = (),
    delivery: DeliveryMode = DeliveryMode.PUSH,
) -> list[tuple[str, bool]]:
    checker = PushChecker(Permission.of(private, http), OperatorsSecrets(tmp_path, {f"PUSH_SECRET_{GCID}": "secret"}))
    service = Service(gcid=GCID, organization="Acme", name="Supply", delivery=delivery, push=push)
    return [(fault.field, fault.is_error) for fault in checker.faults(service)]


def at(url: str) -> Push:
    return Push(url=url, authentication=PushAuthentication.NONE)


@pytest.mark.req("Z4")
@pytest.mark.parametrize(
    "url",
    [
        "http://acme.example/in",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://127.0.0.1/",
        "https://10.1.2.3/",
        "https://[::1]/",
        "https://169.254.169.254/",
        "https://user:password@acme.example/",
        "ftp://acme.example/",
    ],
)
def test_an_address_that_can_never_be_pushed_to_is_an_error(tmp_path: Path, url: str) -> None:
    assert faults(tmp_path, at(url)) == [("push/url", True)]


@pytest.mark.parametrize("url", ["https://acme.example/in", "https://8.8.8.8/in", "https://[2606:4700::1111]:8443/in"])
def test_a_public_address_by_https_is_fine(tmp_path: Path, url: str) -> None:
    assert faults(tmp_path, at(url)) == []


def test_what_the_operator_allows_is_fine(tmp_path: Path) -> None:
    assert faults(tmp_path, at("http://127.0.0.1:8080/"), private=("127.0.0.0/8",)) == []
    assert faults(tmp_path, at("http://erp.internal/"), private=("erp.internal",)) == []
    assert faults(tmp_path, at("http://acme.example/"), http=("acme.example",)) == []
    assert faults(tmp_path, at("http://erp.internal/"), private=("10.0.0.0/8",)) == []  # it may lead there


def test_a_secret_that_is_missing_or_unreadable_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "Acme").mkdir()
    (tmp_path / "Acme" / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "Acme" / "empty").write_text("\n")
    (tmp_path / "Acme" / "good").write_text("whsec_c2VjcmV0")
    found = {
        name: faults(tmp_path, Push(url="https://acme.example/", secret_from=name))
        for name in ("file:none", "file:binary", "file:empty", "file:good", "env:NONE", f"env:PUSH_SECRET_{GCID}")
    }
    warned = [("push/secretFrom", False)]
    assert found.pop("file:good") == found.pop(f"env:PUSH_SECRET_{GCID}") == []
    assert list(found.values()) == [warned] * 4


def test_the_backup_is_checked_too(tmp_path: Path) -> None:
    push = Push(
        url="https://acme.example/", authentication=PushAuthentication.NONE, backup=at("https://192.168.0.1/in")
    )
    assert faults(tmp_path, push) == [("push/backup/url", True)]


def test_a_service_that_polls_is_not_checked(tmp_path: Path) -> None:
    assert faults(tmp_path, at("https://10.1.2.3/"), delivery=DeliveryMode.POLL) == []
