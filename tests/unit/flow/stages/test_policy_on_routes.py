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
from postroad.core.model.rule import ActionKind, RuleRole
from postroad.errors import Refused
from postroad.flow.push.attempt import make_receiver_caller
from tests.samples.inclusions import BUYER, FIRST, INCLUSIONS, SUPPLY, WORK, Inclusion, InclusionScenario

CERTIFICATE = ConnectionPolicy(authentication=AuthenticationLevel.CERTIFICATE)
TLS = ConnectionPolicy(transport=Transport.TLS)
POLICIES = [(CERTIFICATE, "policy.authentication"), (TLS, "policy.transport")]
ONLY_CERTIFICATES = (CredentialKind.CERTIFICATE,)


async def demanding(at: InclusionScenario, policy: ConnectionPolicy, *addresses: str) -> None:
    for address in addresses:
        await at.change(address, policy=policy)


@pytest.mark.req("Z1")
@pytest.mark.parametrize(("policy", "code"), POLICIES)
@pytest.mark.parametrize("inclusion", INCLUSIONS)
async def test_a_weaker_service_may_not_be_on_the_way(
    inclusion: Inclusion, policy: ConnectionPolicy, code: str
) -> None:
    async with InclusionScenario() as at:
        await demanding(at, policy, BUYER, SUPPLY, FIRST)
        refusal = await inclusion(at)
        assert refusal is not None
        assert refusal.code == code
        assert f"{WORK} does not guarantee" in refusal.detail
        assert "policy.exceptFor" in refusal.detail


@pytest.mark.req("Z1")
@pytest.mark.parametrize(("policy", "code"), POLICIES)
@pytest.mark.parametrize("inclusion", INCLUSIONS)
async def test_a_service_as_strict_as_the_others_may_be_included(
    inclusion: Inclusion, policy: ConnectionPolicy, code: str
) -> None:
    async with InclusionScenario() as at:
        await demanding(at, policy, BUYER, SUPPLY, FIRST, WORK)
        assert await inclusion(at) is None


@pytest.mark.req("Z1")
@pytest.mark.parametrize("excepted", ["transmatics", "TRANSMATICS/work", "gcid"])
@pytest.mark.parametrize("inclusion", INCLUSIONS)
async def test_a_weaker_service_may_be_included_if_all_policies_except_it(inclusion: Inclusion, excepted: str) -> None:
    async with InclusionScenario() as at:
        name = at.profile(WORK).gcid if excepted == "gcid" else excepted
        strict = replace(CERTIFICATE, transport=Transport.TLS, except_for=(name,))
        await demanding(at, strict, BUYER, SUPPLY, FIRST)
        assert await inclusion(at) is None


@pytest.mark.req("Z1")
async def test_an_exception_of_one_policy_does_not_apply_to_another() -> None:
    async with InclusionScenario() as at:
        await demanding(at, CERTIFICATE, BUYER, SUPPLY)
        await demanding(at, replace(CERTIFICATE, except_for=("Transmatics",)), SUPPLY)
        refusal = await at.try_post(SUPPLY, WORK)
        assert refusal is not None
        assert refusal.detail.startswith(f"{BUYER} requires")


@pytest.mark.req("Z1")
async def test_a_sender_that_a_policy_excepts_may_use_a_weaker_connection() -> None:
    async with InclusionScenario(policy=replace(TLS, except_for=("MyBiz",))) as at:
        weak = Caller(service=at.profile(BUYER))
        await at.post(weak, SUPPLY)
        with pytest.raises(Refused, match=r"policy\.transport"):
            await at.post(Caller(service=at.profile(WORK)), SUPPLY)


@pytest.mark.req("Z1")
async def test_a_service_cannot_except_itself_from_its_policy() -> None:
    async with InclusionScenario(policy=replace(CERTIFICATE, except_for=("Acme",))) as at:
        weak = Caller(service=at.profile(SUPPLY), level=AuthenticationLevel.KEY)
        with pytest.raises(Refused, match=r"policy\.authentication"):
            await at.poll(weak)
        with pytest.raises(Refused, match=r"policy\.authentication"):
            await at.post(weak, WORK)


@pytest.mark.req("Z1")
@pytest.mark.parametrize("inclusion", INCLUSIONS)
async def test_a_service_that_can_prove_itself_by_certificate_alone_needs_no_policy(inclusion: Inclusion) -> None:
    """What it allows counts, not only what it asks of others."""
    async with InclusionScenario() as at:
        await demanding(at, CERTIFICATE, BUYER, SUPPLY, FIRST)
        await at.change(WORK, authentication=ONLY_CERTIFICATES)
        assert await inclusion(at) is None


@pytest.mark.req("Z1")
@pytest.mark.parametrize("keeper", ["policy of the isolated", "policy of another"])
async def test_a_policy_refusal_does_not_name_an_isolated_service(keeper: str) -> None:
    async with InclusionScenario() as at:
        await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=True)
        await demanding(at, CERTIFICATE, *((WORK,) if keeper == "policy of the isolated" else (BUYER, SUPPLY)))
        refusal = await at.try_post()
        assert refusal is not None
        assert refusal.code == "policy.authentication"
        assert "Transmatics" not in refusal.detail
        assert "ask the recipient's owner" in refusal.detail


@pytest.mark.req("Z1")
async def test_a_policy_refusal_names_an_isolated_service_to_the_one_that_isolates_it() -> None:
    async with InclusionScenario() as at:
        await at.include(BUYER, RuleRole.SENDER, ActionKind.ADD_SERVICE, isolates=True)
        await demanding(at, CERTIFICATE, BUYER, SUPPLY)
        refusal = await at.try_post()
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
