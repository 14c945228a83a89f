"""Secrets on two nodes with one PostgreSQL: a change holds for the next push of either, and both follow a rotation."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.adapters.system import SystemRandomness
from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    Organization,
    Push,
    PushAuthentication,
    Service,
    Visibility,
)
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Misconfigured, Refused
from postroad.flow.registries.configuration import build_save
from postroad.flow.registries.secret_vault import SecretVault
from postroad.flow.registries.token_keys import TokenKeyRing
from tests.samples.push_receiver import Receiver, receiver
from tests.waiting import eventually_async

WAIT_S, PATH = 60.0, "/inbox"
OLD_KEY, NEW_KEY = "0d" * 32, "1e" * 32
MYBIZ = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing", visibility=Visibility.PUBLIC)
SENDER = Caller(service=MYBIZ, level=AuthenticationLevel.KEY)
SCOPE = ("Acme", "", "hook")

pytestmark = pytest.mark.req("O9")


def inbox(receiving: Receiver, gcid: str, name: str) -> Service:
    push = Push(url=receiving.url(PATH), authentication=PushAuthentication.BEARER, secret_from="secret:hook")
    return Service(
        gcid=gcid,
        organization="Acme",
        name=name,
        visibility=Visibility.PUBLIC,
        delivery=DeliveryMode.PUSH,
        push=push,
    )


@asynccontextmanager
async def node(folder: Path, dsn: str, master_key: str = OLD_KEY) -> AsyncIterator[RunningNetwork]:
    given = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": dsn, "data": str(folder)}
    given |= {"push_allow_private": "127.0.0.0/8", "master_key": master_key}
    settings = read_settings(file=Path(os.devnull), environment={}, overrides=given)
    async with open_network(settings) as running:
        yield running


def vault_of(running: RunningNetwork) -> SecretVault:
    assert running.network.vault is not None
    return running.network.vault


def ring_of(running: RunningNetwork) -> TokenKeyRing:
    assert running.network.token_keys is not None
    return running.network.token_keys


async def set_(running: RunningNetwork, text: str) -> int:
    return (await vault_of(running).set("ada@acme.example", SCOPE, text, lambda directory: None)).version


async def configured(one: RunningNetwork, other: RunningNetwork, *services: Service) -> None:
    houses = [Organization(name=service.organization) for service in services]
    changed = await one.network.configuration.change("test", [build_save(item) for item in (*houses, *services)])

    async def is_known() -> bool:
        return other.network.directory.version >= changed.version

    await eventually_async(is_known, WAIT_S)


async def read_on(running: RunningNetwork, service: Service) -> str:
    """Return the secret as a push on this node would use it now."""
    await vault_of(running).prepare(service, "hook")
    return vault_of(running).recall(service, "hook")


async def test_a_change_on_one_node_is_used_by_the_next_push_of_both(tmp_path: Path, postgres_database: str) -> None:
    with receiver() as receiving:
        acme = inbox(receiving, "b" * 16, "Inbox")
        async with (
            node(tmp_path / "one", postgres_database) as first,
            node(tmp_path / "two", postgres_database) as second,
        ):
            await configured(first, second, MYBIZ, acme)
            for number in range(6):
                setter = (first, second)[number % 2]
                await set_(setter, f"token {number}")
                for running in (second, first):  # without waiting: also on the node that did not set it
                    assert await read_on(running, acme) == f"token {number}"
            await first.network.post(SENDER, Message(to=(Recipient("Acme/Inbox"),)))
            await asyncio.to_thread(receiving.wait_for, PATH, 1)
            assert receiving.at(PATH)[0].headers["authorization"] == "Bearer token 5"
            with pytest.raises(Misconfigured):
                await read_on(second, MYBIZ)


async def test_two_nodes_that_set_a_secret_at_once_agree(tmp_path: Path, postgres_database: str) -> None:
    with receiver() as receiving:
        acme = inbox(receiving, "b" * 16, "Inbox")
        async with (
            node(tmp_path / "one", postgres_database) as first,
            node(tmp_path / "two", postgres_database) as second,
        ):
            await configured(first, second, MYBIZ, acme)
            done = 0
            for number in range(8):
                results = await asyncio.gather(
                    *(set_(running, f"{number} {name}") for name, running in (("one", first), ("two", second))),
                    return_exceptions=True,
                )
                assert all(isinstance(one, int | Refused) for one in results), results
                done += sum(isinstance(one, int) for one in results)
                assert await read_on(first, acme) == await read_on(second, acme)
            assert done >= 8
            assert len(await vault_of(first).store.find_secrets("acme", "", "hook")) == 1


async def test_the_master_key_is_rotated_node_by_node(tmp_path: Path, postgres_database: str) -> None:
    with receiver() as receiving:
        acme = inbox(receiving, "b" * 16, "Inbox")
        async with node(tmp_path / "two", postgres_database):  # the network as it was before
            pass
        async with node(tmp_path / "two", postgres_database, f"{NEW_KEY},{OLD_KEY}") as second:
            async with node(tmp_path / "one", postgres_database) as first:  # it has not been restarted yet
                await configured(first, second, MYBIZ, acme)
                await set_(second, "from the new node")
                assert await read_on(first, acme) == "from the new node"
            async with node(tmp_path / "one", postgres_database, f"{NEW_KEY},{OLD_KEY}") as first:
                assert await vault_of(first).keys.rotate_master() == 1
                assert await read_on(second, acme) == "from the new node"
                await set_(second, "after the rotation")
        async with node(tmp_path / "one", postgres_database, NEW_KEY) as first:
            assert await read_on(first, acme) == "after the rotation"
        with pytest.raises(Misconfigured, match="add the missing key"):
            async with node(tmp_path / "one", postgres_database, OLD_KEY):
                pass
        with pytest.raises(Misconfigured, match="no master key is set"):
            async with node(tmp_path / "one", postgres_database, ""):
                pass


async def test_both_nodes_follow_a_rotation_of_the_token_key(
    tmp_path: Path, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.bootstrap.secrets.SPREAD_US", 2_000_000)

    async def polled(running: RunningNetwork) -> Delivered:
        part = Part(id="1", content_type="text/plain", data=SystemRandomness().bytes(4).hex().encode())
        await running.network.post(SENDER, Message(to=(Recipient("MyBiz/Purchasing"),), parts=(part,)))
        [delivered] = await running.network.poll(SENDER, PollRequest(wait_s=30))
        return delivered

    async def settle(running: RunningNetwork, delivered: Delivered) -> None:
        [settled] = (await running.network.settle(SENDER, Settlement(tokens=(delivered.token,)))).settled
        assert settled.code == "", settled

    async with (
        node(tmp_path / "one", postgres_database) as first,
        node(tmp_path / "two", postgres_database) as second,
    ):
        await configured(first, second, MYBIZ)
        early = await polled(first)
        await ring_of(second).rotate(await ring_of(second).make_key())
        with pytest.raises(Refused, match="in progress"):
            await ring_of(first).make_key()
        made: list[Delivered] = []

        async def is_done() -> bool:
            for hands_out, settles in ((first, second), (second, first)):  # also while only one of them knows the step
                one = await polled(hands_out)
                await settle(settles, one)
                made.append(one)
            await asyncio.sleep(0.05)  # sleeps: a slow client
            stored = ring_of(first).stored
            return ring_of(second).stored == stored and len(stored) == 2 and stored[1].overlap_to_seq is not None

        await eventually_async(is_done, WAIT_S)
        await settle(second, early)  # an old token
        late = await polled(first)
        assert late.token == second.network.tokens.token(
            second.network.lookup.number(late), late.session, late.recipient_gcid
        )
        await settle(second, late)
        assert len({one.token.partition(".")[2] for one in made}) == len(made) > 10
