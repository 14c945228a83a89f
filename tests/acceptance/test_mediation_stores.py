"""How a message was wrapped outlives the network that took it: in files and in PostgreSQL, and for any of several nodes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.bootstrap.settings import Settings
from postroad.core.mediation.model import Wire
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Service, Visibility
from postroad.core.model.journal import DeliveryTranslated, decode
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.mediate import read_external_post
from tests.waiting import eventually_async

BUYER = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing", format="mime")
SAME = Service(gcid="b" * 16, organization="Acme", name="Supply", visibility=Visibility.PUBLIC, format="mime")
OTHER = Service(gcid="c" * 16, organization="Museum", name="Archive", visibility=Visibility.PUBLIC, format="dime")
KIND = 'multipart/mixed; boundary="b b"'
BODY = (
    b"preamble\r\n--b b\r\nContent-Type: text/plain\r\nX-Colour: red\r\n\r\n%b\r\n--b b\r\n\r\n2\r\n--b b--\r\nepilogue"
    % (b"one " * 50_000)
)


def caller(service: Service) -> Caller:
    return Caller(service=service, level=AuthenticationLevel.KEY)


def settings(folder: Path, postgres: str = "") -> Settings:
    shared = (
        {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres} if postgres else {}
    )
    small = {"segment_bytes": "1048576", "least_free_bytes": "1048576"} if not postgres else {}
    return read_settings(file=Path(os.devnull), environment={}, overrides={"data": str(folder), **shared, **small})


async def took(node: RunningNetwork) -> None:
    """A message in a format with much that only its wrapping has, to two receivers."""
    houses = [Organization(name=service.organization) for service in (BUYER, SAME, OTHER)]
    await node.network.configuration.change("test", [build_save(one) for one in (*houses, BUYER, SAME, OTHER)])
    to = ("postroad-to", "Acme/Supply, Museum/Archive")
    await node.network.carry_out(caller(BUYER), read_external_post(Wire([("content-type", KIND), to], BODY)))


async def require_handed_out(node: RunningNetwork) -> None:
    [same] = await node.network.poll_in_format(caller(SAME), PollRequest())
    assert same.given is not None
    assert (same.given.media_type, same.given.data) == (KIND, BODY)
    for _ in range(2):
        [other] = await node.network.poll_in_format(caller(OTHER), PollRequest())
        assert other.given is not None
        assert b"X-Colour: red" in other.given.data, "further headers go in the options of the record"
        returned = Settlement(tokens=(other.delivered.token,), outcome=Outcome.NACK)
        await node.network.settle(caller(OTHER), returned)
    records = (await node.network.journal.read(0, 1 << 20)).records
    [noted] = [entry for one in records if isinstance(entry := decode(one.facts), DeliveryTranslated)]
    assert (noted.by, noted.form, noted.format) == (OTHER.gcid, "mime", "dime")
    assert noted.dropped == ("part 2: that it is a document, not an attachment, cannot be represented in DIME",)
    history = await node.network.trace(other.delivered.session, None)
    assert history is not None
    events = [event.what for copy in history.messages[0].copies for event in copy.stops[-1].events]
    assert events.count("translated") == 1


@pytest.mark.req("T3", "T9")
async def test_after_a_restart_the_same_bytes_are_given(tmp_path: Path) -> None:
    async with open_network(settings(tmp_path)) as node:
        await took(node)
    async with open_network(settings(tmp_path)) as node:
        await require_handed_out(node)


@pytest.mark.req("T3", "T9", "O3")
async def test_another_node_gives_the_same_bytes(tmp_path: Path, postgres_database: str) -> None:
    async with open_network(settings(tmp_path / "one", postgres_database)) as one:
        await took(one)
        async with open_network(settings(tmp_path / "two", postgres_database)) as two:
            await eventually_async(lambda: {SAME.gcid, OTHER.gcid} <= two.network.directory.services.keys())
            await require_handed_out(two)
