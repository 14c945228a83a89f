"""Security policies along whole routes: post, poll, push and every way in which a weaker service can get on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroad.core.admission.policy import promised_level
from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    ConnectionPolicy,
    CredentialKind,
    DeliveryMode,
    Push,
    PushAuthentication,
    Service,
    Transport,
)
from postroad.core.model.message import Message, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.model.rule import ActionKind, RuleRole
from postroad.errors import Refused
from postroad.flow.push.attempt import make_receiver_caller
from tests.unit.flow.stages.ways import BUYER, FIRST, SUPPLY, WAYS, WORK, Town, Way, town

CERTIFICATE = ConnectionPolicy(authentication=AuthenticationLevel.CERTIFICATE)
TLS = ConnectionPolicy(transport=Transport.TLS)
POLICIES = [(CERTIFICATE, "policy.authentication"), (TLS, "policy.transport")]
ONLY_CERTIFICATES = (CredentialKind.CERTIFICATE,)


async def demanding(at: Town, policy: ConnectionPolicy, *addresses: str) -> None:
    for address in addresses:
        await at.change(address, policy=policy)


@pytest.mark.req("Z1")
@pytest.mark.parametrize(("policy", "code"), POLICIES)
@pytest.mark.parametrize("way", WAYS)
async def test_a_weaker_service_may_not_be_on_the_way(way: Way, policy: ConnectionPolicy, code: str) -> None:
    async with town() as at:
        await demanding(at, policy, BUYER, SUPPLY, FIRST)
        refusal = await way(at)
        assert refusal is not None
        assert refusal.code == code
        assert f"{WORK} does not guarantee" in refusal.detail
        assert "policy.exceptFor" in refusal.detail


@pytest.mark.req("Z1")
@pytest.mark.parametrize(("policy", "code"), POLICIES)
@pytest.mark.parametrize("way", WAYS)
async def test_as_strict_as_the_others_it_may(way: Way, policy: ConnectionPolicy, code: str) -> None:
    async with town() as at:
        await demanding(at, policy, BUYER, SUPPLY, FIRST, WORK)
        assert await way(at) is None


@pytest.mark.req("Z1")
@pytest.mark.parametrize("excepted", ["transmatics", "TRANSMATICS/work", "gcid"])
@pytest.mark.parametrize("way", WAYS)
async def test_the_owners_of_policies_may_allow_it(way: Way, excepted: str) -> None:
    async with town() as at:
        name = at.service(WORK).gcid if excepted == "gcid" else excepted
        strict = replace(CERTIFICATE, transport=Transport.TLS, except_for=(name,))
        await demanding(at, strict, BUYER, SUPPLY, FIRST)
        assert await way(at) is None


@pytest.mark.req("Z1")
async def test_one_owner_does_not_speak_for_another() -> None:
    async with town() as at:
        await demanding(at, CERTIFICATE, BUYER, SUPPLY)
        await demanding(at, replace(CERTIFICATE, except_for=("Transmatics",)), SUPPLY)
        refusal = await at.post(SUPPLY, WORK)
        assert refusal is not None
        assert refusal.detail.startswith(f"{BUYER} requires")


@pytest.mark.req("Z1")
async def test_whoever_is_excepted_may_send_with_less_too() -> None:
    async with town(policy=replace(TLS, except_for=("MyBiz",))) as at:
        weak = Caller(service=at.service(BUYER))
        await at.network.post(weak, Message(to=(Recipient(SUPPLY),)))
        with pytest.raises(Refused, match=r"policy\.transport"):
            await at.network.post(Caller(service=at.service(WORK)), Message(to=(Recipient(SUPPLY),)))


@pytest.mark.req("Z1")
async def test_nobody_is_excepted_from_their_own_policy() -> None:
    async with town(policy=replace(CERTIFICATE, except_for=("Acme",))) as at:
        weak = Caller(service=at.service(SUPPLY), level=AuthenticationLevel.KEY)
        with pytest.raises(Refused, match=r"policy\.authentication"):
            await at.network.poll(weak, PollRequest())
        with pytest.raises(Refused, match=r"policy\.authentication"):
            await at.network.post(weak, Message(to=(Recipient(WORK),)))


@pytest.mark.req("Z1")
@pytest.mark.parametrize("way", WAYS)
async def test_a_service_that_can_prove_itself_by_certificate_alone_needs_no_policy(way: Way) -> None:
    """What it allows counts, not only what it asks of others."""
    async with town() as at:
        await demanding(at, CERTIFICATE, BUYER, SUPPLY, FIRST)
        await at.change(WORK, authentication=ONLY_CERTIFICATES)
        assert await way(at) is None


@pytest.mark.req("Z1")
@pytest.mark.parametrize("keeper", ["policy of the isolated", "policy of another"])
async def test_a_service_that_somebody_keeps_to_itself_is_not_named(keeper: str) -> None:
    async with town() as at:
        await at.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=True)
        await demanding(at, CERTIFICATE, *((WORK,) if keeper == "policy of the isolated" else (BUYER, SUPPLY)))
        refusal = await at.post()
        assert refusal is not None
        assert refusal.code == "policy.authentication"
        assert "Transmatics" not in refusal.detail
        assert "ask the recipient's owner" in refusal.detail


@pytest.mark.req("Z1")
async def test_whoever_isolates_it_is_told_its_name() -> None:
    async with town() as at:
        await at.rule(BUYER, RuleRole.SENDER, ActionKind.ADD_SERVICE, isolates=True)
        await demanding(at, CERTIFICATE, BUYER, SUPPLY)
        refusal = await at.post()
        assert refusal is not None
        assert WORK in refusal.detail


# --- pushes ---------------------------------------------------------------------------------------------------------

URL = "https://work.example/in"


def with_backup(service: Service) -> Service:
    """With a second place, where a token is the proof."""
    assert service.push is not None
    backup = Push(url="https://second.example/in", authentication=PushAuthentication.BEARER, secret_from="env:X")
    return replace(service, push=replace(service.push, backup=backup))


def pushed(proof: PushAuthentication, url: str = URL, **profile: Any) -> Service:
    push = Push(url=url, authentication=proof, secret_from="env:X")
    return Service(gcid="a" * 16, organization="T", name="W", delivery=DeliveryMode.PUSH, push=push, **profile)


@pytest.mark.req("Z1")
@pytest.mark.parametrize(
    ("authentication", "url", "level"),
    [
        ("none", URL, "password"),
        ("basic", URL, "password"),
        ("bearer", URL, "key"),
        ("signature", URL, "certificate"),
        ("certificate", URL, "certificate"),
        ("signature", "http://work.example/in", "password"),
        ("signature", "HTTPS://work.example/in", "certificate"),
    ],
)
def test_a_push_is_as_safe_as_its_proof_and_its_address(authentication: str, url: str, level: str) -> None:
    service = pushed(PushAuthentication(authentication), url)
    caller = make_receiver_caller(service)
    assert (caller.level.value, caller.secure) == (level, url.lower().startswith("https"))


@pytest.mark.req("Z1")
@pytest.mark.parametrize(
    ("service", "level"),
    [
        (pushed(PushAuthentication.BASIC, authentication=ONLY_CERTIFICATES), "password"),
        (pushed(PushAuthentication.SIGNATURE, authentication=ONLY_CERTIFICATES), "certificate"),
        (pushed(PushAuthentication.SIGNATURE), "password"),  # it may poll, with a password
        (pushed(PushAuthentication.SIGNATURE, policy=CERTIFICATE), "certificate"),
        (pushed(PushAuthentication.SIGNATURE, authentication=(CredentialKind.KEY,)), "key"),
        (with_backup(pushed(PushAuthentication.SIGNATURE, authentication=ONLY_CERTIFICATES)), "key"),
    ],
)
def test_a_push_service_promises_the_weaker_of_push_and_poll(service: Service, level: str) -> None:
    assert promised_level(service).value == level


@pytest.mark.req("Z1")
@pytest.mark.parametrize(
    ("policy", "push", "fault"),
    [
        ({"transport": "tls"}, {"url": "http://a.example"}, "must begin with https:"),
        ({"authentication": "key"}, {"authentication": "basic", "username": "u"}, "bearer, signature or certificate"),
        ({"authentication": "certificate"}, {"authentication": "bearer"}, "be signature or certificate"),
        ({"authentication": "certificate"}, {"authentication": "none", "secretFrom": ""}, "signature or certificate"),
        ({"authentication": "certificate"}, {"url": "http://a.example"}, "must begin with https:"),
        ({"authentication": "certificate"}, {}, ""),
        ({"authentication": "key"}, {"authentication": "bearer"}, ""),
        ({"authentication": "password"}, {"authentication": "none", "secretFrom": ""}, ""),
    ],
)
def test_a_profile_pushes_as_its_policy_says(policy: dict[str, str], push: dict[str, str], fault: str) -> None:
    """Also when it is the policy that changes later: a profile is saved whole."""
    given = {"delivery": "push", "policy": policy, "push": {"url": URL, "secretFrom": "env:X"} | push}
    if not fault:
        ServiceProfile.model_validate(given)
        return
    with pytest.raises(ValueError, match=fault):
        ServiceProfile.model_validate(given)
