"""Warnings before certificates and keys come to their end: each once, and none for what is meant to end."""

from __future__ import annotations

import pytest

from postroad.core.identity.expiry import (
    DAY_US,
    Expiring,
    Warnings,
    credential_warning,
    days_left,
    due_warning,
    expiring_credentials,
    warning,
)
from postroad.core.model.directory import Credential, CredentialKind, Person, Service
from postroad.testing.directories import make_directory

END = 1_000 * DAY_US


@pytest.mark.req("Z1")
@pytest.mark.parametrize(
    ("days", "due"),
    [(31, None), (30, 30), (15, 30), (14, 14), (8, 14), (7, 7), (2, 7), (1, 1), (0.5, 1), (0, 0), (-3, 0)],
)
def test_warnings_are_due_at_30_14_7_and_1_days(days: float, due: int | None) -> None:
    assert due_warning(END, END - int(days * DAY_US)) == due


@pytest.mark.req("Z1")
def test_each_warning_is_given_once_and_the_last_one_when_it_is_over() -> None:
    warnings, thing = Warnings(), Expiring("certificate 'spring' of MyBiz/Purchasing", END)
    given = []
    for hour in range(40 * 24, -5 * 24, -1):
        given += warnings.list_due([thing], END - hour * DAY_US // 24)
    assert given == [
        "certificate 'spring' of MyBiz/Purchasing expires in 30 days; replace it before",
        "certificate 'spring' of MyBiz/Purchasing expires in 14 days; replace it before",
        "certificate 'spring' of MyBiz/Purchasing expires in 7 days; replace it before",
        "certificate 'spring' of MyBiz/Purchasing expires in 1 day; replace it before",
        "certificate 'spring' of MyBiz/Purchasing has expired; replace it",
    ]


def test_after_a_restart_only_what_is_due_is_said() -> None:
    thing = Expiring("a key", END)
    assert Warnings().list_due([thing], END - 5 * DAY_US) == ["a key expires in 5 days; replace it before"]


def test_what_was_replaced_is_forgotten_and_its_successor_is_warned_of() -> None:
    warnings = Warnings()
    warnings.list_due([Expiring("a key", END)], END)
    assert not warnings.list_due([], END)
    assert len(warnings.list_due([Expiring("a key", END + DAY_US)], END)) == 1


def test_what_never_ends_is_never_warned_of() -> None:
    assert (days_left(0, END), due_warning(0, END), warning(0, END)) == (None, None, "")
    assert days_left(END, END - DAY_US) == 1
    assert days_left(END, END + DAY_US) == 0


@pytest.mark.req("Z1")
def test_credentials_of_services_and_people_are_found_by_name() -> None:
    service = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing")
    known = make_directory(
        service,
        Person(email="ann@mybiz.example"),
        _credential("c", CredentialKind.CERTIFICATE, service=service.gcid, label="spring"),
        _credential("k", CredentialKind.KEY, person="ann@mybiz.example", label="laptop"),
        _credential("l", CredentialKind.KEY, person="ann@mybiz.example", label="login"),
        Credential(id="n", kind=CredentialKind.KEY, secret="n", service=service.gcid, label="indefinitely"),
    )
    assert sorted(thing.what for thing in expiring_credentials(known)) == [
        "certificate 'spring' of MyBiz/Purchasing",
        "key 'laptop' of ann@mybiz.example",
    ]


def test_a_login_is_meant_to_end() -> None:
    login = _credential("l", CredentialKind.KEY, person="ann@mybiz.example", label="login")
    assert credential_warning(login, END) == ""
    service_key = _credential("k", CredentialKind.KEY, service="a" * 16, label="login")
    assert credential_warning(service_key, END).startswith("It has expired")


def _credential(id_: str, kind: CredentialKind, **more: str) -> Credential:
    return Credential(id=id_, kind=kind, secret=id_, expires_at_us=END, **more)  # type: ignore[arg-type]
