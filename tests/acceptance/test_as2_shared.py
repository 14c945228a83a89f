"""AS2 in a shared network: partners meet any node, and are answered as if there were one."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.codecs.as2 import BuiltMdn, judge_mdn, read_mdn
from postroad.core.codecs.as2.headers import Headers
from postroad.core.delivery.push_request import PushRequest
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import AuthenticationLevel, DeliveryMode, Push, PushAuthentication, Service
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.errors import Refused
from postroad.flow.as2.receive import As2Request
from tests.acceptance.test_push_shared import WAIT_S, configured, states
from tests.samples.as2_scenario import AGREED, DOCUMENT, build_partner_mdn, key_pem, ours, sent_by_acme
from tests.samples.cms_people import clerk
from tests.samples.push_receiver import Pushed, Receiver, receiver

PATH = "/as2"
ORDERS = Service(gcid="a" * 16, organization="Aster", name="Orders")


def acme(receiving: Receiver) -> Service:
    push = Push(url=receiving.url(PATH), authentication=PushAuthentication.NONE)
    as2 = replace(AGREED, mdn="async", mdn_timeout_s=600)
    return Service(
        gcid="b" * 16, organization="Aster", name="Acme", format="as2", delivery=DeliveryMode.PUSH, push=push, as2=as2
    )


async def take(node: RunningNetwork, headers: Headers, body: bytes) -> BuiltMdn | None:
    async def nobody() -> Caller:
        raise Refused("authentication.required", "Send a key")

    lower = [(name.lower(), value) for name, value in headers]
    return await node.as2.receive(
        As2Request(headers=lower, body=body, secure=True, authenticated=nobody, charge=lambda caller: None)
    )


def as_request(pushed: Pushed) -> PushRequest:
    return PushRequest(url="", headers={name.lower(): text for name, text in pushed.headers.items()}, body=pushed.body)


@pytest.mark.req("T7", "O3")
async def test_a_partner_may_meet_another_node_each_time(tmp_path: Path, postgres_database: str) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    shared |= {"push_allow_private": "127.0.0.0/8", "public_url": "https://net.example"}
    for name in ("one", "two"):
        keys = tmp_path / name / "push-secrets" / "Aster"
        keys.mkdir(parents=True)
        (keys / "as2.pem").write_text(key_pem(clerk()))
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    with receiver() as receiving:
        async with open_network(one) as first, open_network(two) as second:
            await configured(first, second, ORDERS, acme(receiving))
            await sent_and_confirmed(first, second, receiving)
            await received_once(first, second)


async def sent_and_confirmed(first: RunningNetwork, second: RunningNetwork, receiving: Receiver) -> None:
    """One node sends, and the receipt comes to each of them, the one that did not send included."""
    sender = Caller(service=ORDERS, level=AuthenticationLevel.KEY)
    part = Part(id="1", content_type="application/edi-x12", data=DOCUMENT)
    await first.network.post(sender, Message(to=(Recipient("Aster/Acme"),), parts=(part,)))
    [pushed] = await asyncio.to_thread(receiving.wait_for, PATH, 1, WAIT_S)
    assert pushed.headers["receipt-delivery-option"] == "https://net.example/as2/Aster"
    assert await states(first) == {DeliveryState.QUEUED: 1}
    mdn = build_partner_mdn(as_request(pushed))
    for node in (second, first):
        assert await take(node, mdn.headers, mdn.body) is None
        assert await states(node) == {DeliveryState.DELIVERED: 1}


async def received_once(first: RunningNetwork, second: RunningNetwork) -> None:
    """The same message at both nodes at once, and again: one delivery, one receipt."""
    built = sent_by_acme()
    nodes = (first, second, second, first)
    answers = await asyncio.gather(*[take(node, built.headers, built.body) for node in nodes])
    answers.append(await take(second, built.headers, built.body))
    assert len({repr(answer) for answer in answers}) == 1
    [mdn, *_] = answers
    assert mdn is not None
    assert judge_mdn(read_mdn(mdn.headers, mdn.body, ours()), built.sent).acknowledged
    caller = Caller(service=ORDERS, level=AuthenticationLevel.KEY)
    [delivered] = await second.network.poll(caller, PollRequest(max=10, wait_s=60.0))
    assert delivered.parts[0].data == DOCUMENT
