"""Who may set which secret, what lists and the audit show, and which services use one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.identity.tokens import Tokens
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Push, PushAuthentication, Role
from postroad.core.model.ids import delivery_number
from postroad.core.model.subscription import Channel
from postroad.errors import Misconfigured, Refused
from postroad.flow.administration import configuration, services
from postroad.flow.administration.audit import list_audited_accesses, list_audited_changes
from postroad.flow.administration.base import Administration, build_removal
from postroad.flow.administration.key_rotation import find_keys, rotate_master, rotate_token
from postroad.flow.administration.notifications import find_unsubscribed, save_subscription
from postroad.flow.administration.secrets import (
    MAX_SECRET_BYTES,
    list_secrets,
    list_service_secrets,
    place_for_organization,
    place_for_removal,
    place_for_service,
    remove_secret,
    set_secret,
)
from postroad.flow.network import Network
from postroad.flow.notifications.channels import make_unsubscribe_token, signing_secret
from postroad.flow.registries.token_keys import TokenKeyRing
from postroad.flow.stages.expire import is_always_leader
from postroad.testing.clocks import ManualClock
from postroad.testing.network import MemoryNetwork, MemoryStorage, memory_network
from tests.samples.subscriptions import subscription

CANARY = "canary-31c0d9"
LATER = delivery_number(10_000, 0)  # a delivery that does not exist yet


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with memory_network() as network:
        yield network


async def people(running: MemoryNetwork) -> dict[str, Caller]:
    owner = await running.enroll("owner@acme.example", organization="Acme")
    await running.key_for(owner)  # so that the organization has an owner who can log in
    return {
        "owner": owner,
        "developer": await running.enroll("dev@acme.example", organization="Acme", role=Role.DEVELOPER),
        "viewer": await running.enroll("viewer@acme.example", organization="Acme", role=Role.VIEWER),
        "stranger": await running.enroll("owner@birch.example", organization="Birch"),
        "operator": await running.enroll("operator@network.example", operator=True),
        "service": await running.register("Acme/Inbox"),
    }


@pytest.mark.req("O9", "Z5")
async def test_owners_set_for_all_and_developers_for_a_service(running: MemoryNetwork) -> None:
    administration, callers = Administration(running.network, running.passwords), await people(running)
    codes: dict[str, tuple[str, str]] = {}
    for who, caller in callers.items():
        found = []
        for place in (
            place_for_organization(caller, "Acme", "hook"),
            place_for_service(caller, "Acme/Inbox", "hook"),
        ):
            try:
                await set_secret(administration, caller, place, CANARY)
                await remove_secret(administration, caller, place)
                found.append("")
            except Refused as refused:
                found.append(refused.code)
        codes[who] = (found[0], found[1])
    assert codes == {
        "owner": ("", ""),
        "developer": ("permission.denied", ""),
        "viewer": ("permission.denied", "permission.denied"),
        "stranger": ("not-found", "not-found"),
        "operator": ("permission.denied", "permission.denied"),
        "service": ("permission.denied", "permission.denied"),
    }


async def test_an_operator_sets_up_an_organization_without_an_owner(running: MemoryNetwork) -> None:
    operator = await running.enroll("operator@network.example", operator=True)
    await running.register("Acme/Inbox")
    administration = Administration(running.network, running.passwords)
    listed = await set_secret(administration, operator, place_for_organization(operator, "Acme", "hook"), CANARY)
    assert listed.record.set_by == "operator@network.example"


@pytest.mark.req("O9")
async def test_lists_and_audit_show_who_set_what_and_not_the_secret(running: MemoryNetwork) -> None:
    administration, callers = Administration(running.network, running.passwords), await people(running)
    owner, network = callers["owner"], running.network
    push = Push(url="https://a.example", authentication=PushAuthentication.BEARER, secret_from="secret:HOOK")
    outbox = await running.register("Acme/Outbox", push=push)
    place = place_for_organization(owner, "Acme", "hook")
    for text in (CANARY, CANARY + "2"):
        await set_secret(administration, owner, place, text)
    [listed] = await list_secrets(network, callers["viewer"], "Acme")
    assert (listed.record.version, listed.record.set_by, listed.used_by) == (2, "owner@acme.example", [outbox.service])
    await set_secret(administration, owner, place_for_service(owner, "Acme/Outbox", "hook"), CANARY)
    used = {one.record.service: one.used_by for one in await list_secrets(network, owner, "Acme")}
    assert outbox.service is not None
    assert used == {"": [], outbox.service.gcid: [outbox.service]}
    assert len(await list_service_secrets(network, outbox, "Acme/Outbox")) == 1
    with pytest.raises(Refused, match="Not found"):
        await list_secrets(network, callers["stranger"], "Acme")
    await remove_secret(administration, owner, place)
    changes = [one for one in await list_audited_changes(network, callers["operator"]) if one.kind == "secret"]
    assert [(one.reason, one.name, one.version, one.by) for one in changes] == [
        ("secret removed", "hook of Acme", 3, "owner@acme.example"),
        ("secret set", "hook of Acme/Outbox", 1, "owner@acme.example"),
        ("secret set", "hook of Acme", 2, "owner@acme.example"),
        ("secret set", "hook of Acme", 1, "owner@acme.example"),
    ]
    assert CANARY not in str(changes)


async def test_names_and_sizes_are_checked(running: MemoryNetwork) -> None:
    administration, owner = Administration(running.network, running.passwords), (await people(running))["owner"]
    for name in ("", "a/b", "-a", "a b", "ä", "x" * 65):
        with pytest.raises(Refused, match="name"):
            await set_secret(administration, owner, place_for_organization(owner, "Acme", name), CANARY)
    for text in ("", "ä" * (MAX_SECRET_BYTES // 2 + 1)):
        with pytest.raises(Refused, match="A secret has"):
            await set_secret(administration, owner, place_for_organization(owner, "Acme", "ok"), text)
    await set_secret(administration, owner, place_for_organization(owner, "Acme", "ok"), "x" * MAX_SECRET_BYTES)


async def test_a_replacement_may_name_the_version_that_it_replaces(running: MemoryNetwork) -> None:
    administration, owner = Administration(running.network, running.passwords), (await people(running))["owner"]
    place = place_for_organization(owner, "Acme", "hook")
    await set_secret(administration, owner, place, "one")
    await set_secret(administration, owner, place, "two", 1)
    with pytest.raises(Refused, match="changed since"):
        await set_secret(administration, owner, place, "three", 1)


@pytest.mark.req("O9")
async def test_operators_rotate_keys_and_the_audit_shows_it(running: MemoryNetwork) -> None:
    callers, network = await people(running), running.network
    operator = callers["operator"]
    for who in ("owner", "service", "stranger"):
        for rotate in (rotate_master, rotate_token, find_keys):
            with pytest.raises(Refused, match="Only operators"):
                await rotate(network, callers[who])
    assert await rotate_master(network, operator) == 0
    new = await rotate_token(network, operator)
    keys = await find_keys(network, operator)
    assert [key.id for key in keys.token_keys][1:] == [new.id]
    assert keys.token_keys[1].from_seq is not None
    accesses = [(one.what, one.detail) for one in await list_audited_accesses(network, operator)]
    assert [what for what, _ in accesses] == [
        "token-key.rotated",
        "token-key.rotating",
        "master-key.rotated",
        "master-key.rotating",
    ]
    assert accesses[0][1] == accesses[1][1] == f"the new key is {new.id}"


@pytest.mark.req("O9")
async def test_a_rotation_that_a_crash_interrupts_is_in_the_audit(
    running: MemoryNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server dies when the new key is stored, and before the end of the rotation is recorded."""
    callers, network = await people(running), running.network

    async def die(ring: TokenKeyRing) -> None:
        raise SystemError("killed")

    monkeypatch.setattr(TokenKeyRing, "advance", die)
    with pytest.raises(SystemError):
        await rotate_token(network, callers["operator"])
    assert network.vault is not None
    added = (await network.vault.store.list_token_keys())[-1]
    [access] = await list_audited_accesses(network, callers["operator"])
    assert (access.what, access.by) == ("token-key.rotating", "operator@network.example")
    assert added.id in access.detail


@pytest.mark.req("O8", "O9")
async def test_rotations_keep_webhook_secrets_and_unsubscribe_links(running: MemoryNetwork) -> None:
    callers, network = await people(running), running.network
    wanted = subscription(channel=Channel.WEBHOOK, address="https://hook.example/")
    await save_subscription(Administration(network, running.passwords), callers["owner"], wanted, None)
    secret, link = signing_secret(network.tokens, wanted), make_unsubscribe_token(network.tokens, wanted)
    first = network.tokens.token(LATER, "session", "recipient")
    await rotate_token(network, callers["operator"])
    await rotate_master(network, callers["operator"])
    assert network.tokens.token(LATER, "session", "recipient") != first, "the key was rotated"
    assert signing_secret(network.tokens, wanted) == secret
    assert find_unsubscribed(network.tokens, network.directory, link) == wanted


@pytest.mark.req("O9")
async def test_after_a_leak_the_first_key_can_be_replaced_when_it_is_retired() -> None:
    """As docs/howto/keep-secrets-in-the-network.md describes it."""
    clock, storage, other_key = ManualClock(), MemoryStorage(), b"another first key, after the leak"
    async with memory_network(clock, storage=storage) as running:
        network, operator = running.network, await running.enroll("operator@network.example", operator=True)
        assert network.vault is not None
        assert network.token_keys is not None
        await rotate_token(network, operator)
        tokens = Tokens(other_key)
        replaced = TokenKeyRing(
            network.plumbing, tokens, storage.secrets, network.vault.keys, other_key, is_always_leader, is_shared=False
        )
        with pytest.raises(Misconfigured, match="not the one"):
            await replaced.load()
        clock.advance(25 * 3_600)
        await network.token_keys.advance()
        assert len((await find_keys(network, operator)).token_keys) == 1
        await replaced.load()
        for given in (network.tokens.token(LATER, "session", "recipient"), tokens.token(LATER, "session", "recipient")):
            assert tokens.holds(given, LATER, "session", "recipient")
        assert tokens.secret_for("x") != network.tokens.secret_for("x")


async def stored_names(network: Network) -> list[str]:
    assert network.vault is not None
    return [row.name for row in await network.vault.store.list_secrets()]


@pytest.mark.req("O9")
@pytest.mark.parametrize("way", ["removed", "pruned"])
async def test_a_removed_services_secrets_are_removed(running: MemoryNetwork, way: str) -> None:
    administration, callers = Administration(running.network, running.passwords), await people(running)
    owner, network = callers["owner"], running.network
    await set_secret(administration, owner, place_for_service(owner, "Acme/Inbox", "hook"), CANARY)
    await set_secret(administration, owner, place_for_organization(owner, "Acme", "kept"), CANARY)
    if way == "removed":
        await services.remove(administration, owner, "Acme/Inbox", None)
    else:
        document = configuration.export_configuration(owner, network.directory)
        document["organizations"]["Acme"]["services"] = {}
        planned = await configuration.plan_configuration(administration, owner, document, prune=True)
        await configuration.apply(administration, owner, document, prune=True, version=planned.version)
    assert network.directory.service("Acme/Inbox") is None
    assert [one.record.name for one in await list_secrets(network, owner, "Acme")] == ["kept"]
    assert await stored_names(network) == ["kept"]


@pytest.mark.req("O9", "Z5")
async def test_an_orphaned_secret_is_removed_by_its_organization(running: MemoryNetwork) -> None:
    """Earlier versions left the secrets of removed services behind."""
    administration, callers = Administration(running.network, running.passwords), await people(running)
    owner, network = callers["owner"], running.network
    inbox = network.directory.service("Acme/Inbox")
    assert inbox is not None
    await set_secret(administration, owner, place_for_service(owner, "Acme/Inbox", "hook"), CANARY)
    await network.configuration.change("test", [build_removal(inbox)])
    [orphaned] = await list_secrets(network, owner, "Acme")
    assert (orphaned.service, orphaned.record.service) == (None, inbox.gcid)
    codes = {}
    for who in ("stranger", "viewer", "operator"):
        with pytest.raises(Refused) as refused:
            await remove_secret(administration, callers[who], place_for_removal(callers[who], inbox.gcid, "hook"))
        codes[who] = refused.value.code
    assert codes == {"stranger": "not-found", "viewer": "permission.denied", "operator": "permission.denied"}
    with pytest.raises(Refused, match="Not found"):
        await set_secret(administration, owner, place_for_service(owner, inbox.gcid, "hook"), CANARY)
    developer = callers["developer"]
    await remove_secret(administration, developer, place_for_removal(developer, inbox.gcid, "HOOK"))
    assert await list_secrets(network, owner, "Acme") == []
    assert await stored_names(network) == []
