"""Who may send to whom, and policies that everyone on a route must meet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.admission.policy import check_policies
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    Accepts,
    AuthenticationLevel,
    ConnectionPolicy,
    Organization,
    Service,
    Transport,
    Visibility,
)
from postroad.errors import Refused
from postroad.testing.directories import make_directory

BUYER = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing")
SUPPLY = Service(gcid="b" * 16, organization="Acme", name="Supply", visibility=Visibility.PUBLIC)


def outcome(recipient: Service, named: str = "Acme/Supply", sender: Service = BUYER, suspended: str = "") -> str:
    known = make_directory(Organization(name=recipient.organization, suspended=suspended), sender, recipient)
    try:
        return find_permitted_recipient(sender, named, known).gcid
    except Refused as refusal:
        return refusal.code


@pytest.mark.req("N2")
@pytest.mark.parametrize("named", ["Acme/Supply", "acme/SUPPLY", "b" * 16])
def test_address_and_gcid_both_name_a_service(named: str) -> None:
    assert outcome(SUPPLY, named) == SUPPLY.gcid


@pytest.mark.req("N5")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"accepts": Accepts.ANYONE}, SUPPLY.gcid),
        ({"accepts": Accepts.LISTED}, "recipient.not-allowed"),
        ({"accepts": Accepts.LISTED, "accepts_from": ("mybiz",)}, SUPPLY.gcid),
        ({"accepts": Accepts.LISTED, "accepts_from": ("MyBiz/Purchasing",)}, SUPPLY.gcid),
        ({"accepts": Accepts.LISTED, "accepts_from": ("a" * 16,)}, SUPPLY.gcid),
        ({"accepts": Accepts.LISTED, "accepts_from": ("Others",)}, "recipient.not-allowed"),
        ({"accepts": Accepts.PROVISIONED}, "recipient.not-allowed"),
        ({"suspended": "abuse"}, "recipient.suspended"),
        ({"visibility": Visibility.PRIVATE}, "recipient.unknown"),
        ({"visibility": Visibility.PRIVATE, "accepts": Accepts.LISTED, "accepts_from": ("MyBiz",)}, SUPPLY.gcid),
    ],
)
def test_who_may_send(changes: dict[str, object], expected: str) -> None:
    assert outcome(replace(SUPPLY, **changes)) == expected  # type: ignore[arg-type]


def test_a_suspended_organization_receives_nothing() -> None:
    assert outcome(SUPPLY, suspended="unpaid") == "recipient.suspended"


def test_services_of_one_house_may_send_to_each_other() -> None:
    private = Service(gcid="c" * 16, organization="mybiz", name="Archive", accepts=Accepts.PROVISIONED)
    assert outcome(private, "MyBiz/Archive") == private.gcid


@pytest.mark.req("N3")
def test_a_private_service_and_none_are_refused_in_the_same_words() -> None:
    private = replace(SUPPLY, visibility=Visibility.PRIVATE)
    refusals = []
    for known in (make_directory(BUYER, private), make_directory(BUYER)):
        with pytest.raises(Refused) as refused:
            find_permitted_recipient(BUYER, "Acme/Supply", known)
        refusals.append((refused.value.code, refused.value.detail))
    assert refusals[0] == refusals[1]


def policy_outcome(caller: Caller, sender: ConnectionPolicy, recipient: ConnectionPolicy) -> str:
    try:
        check_policies(caller, replace(BUYER, policy=sender), (replace(SUPPLY, policy=recipient),))
    except Refused as refusal:
        return refusal.code
    return "allowed"


PLAIN, TLS = ConnectionPolicy(), ConnectionPolicy(transport=Transport.TLS)
CERTIFICATE = ConnectionPolicy(authentication=AuthenticationLevel.CERTIFICATE)


@pytest.mark.req("Z1")
@pytest.mark.parametrize(
    ("secure", "level", "sender", "recipient", "expected"),
    [
        (False, "password", PLAIN, PLAIN, "allowed"),
        (False, "password", TLS, TLS, "policy.transport"),
        (True, "password", TLS, TLS, "allowed"),
        (True, "password", TLS, PLAIN, "policy.transport"),
        (False, "password", PLAIN, TLS, "policy.transport"),
        (True, "password", PLAIN, TLS, "allowed"),
        (True, "key", CERTIFICATE, CERTIFICATE, "policy.authentication"),
        (True, "certificate", CERTIFICATE, CERTIFICATE, "allowed"),
        (True, "certificate", CERTIFICATE, PLAIN, "policy.authentication"),
        (True, "key", PLAIN, CERTIFICATE, "policy.authentication"),
    ],
)
def test_everyone_on_the_way_meets_every_policy(
    secure: bool, level: str, sender: ConnectionPolicy, recipient: ConnectionPolicy, expected: str
) -> None:
    caller = Caller(service=BUYER, secure=secure, level=AuthenticationLevel(level))
    assert policy_outcome(caller, sender, recipient) == expected


@pytest.mark.req("Z1")
def test_what_the_network_hosts_itself_falls_short_of_nobodys_policy() -> None:
    strict = ConnectionPolicy(transport=Transport.TLS, authentication=AuthenticationLevel.CERTIFICATE)
    caller = Caller(service=BUYER, secure=True, level=AuthenticationLevel.CERTIFICATE)
    check_policies(caller, replace(BUYER, policy=strict), (replace(SUPPLY, hosted=Hosting.XSLT),))
    with pytest.raises(Refused, match=r"policy\.transport"):
        check_policies(caller, replace(BUYER, policy=strict), (SUPPLY,))
