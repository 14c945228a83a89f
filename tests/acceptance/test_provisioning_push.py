"""A provider that is pushed to, hidden from the first sender's name: neither headers nor body of a push tell who wrote."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.directory import Accepts, DeliveryMode, Push, PushAuthentication
from postroad.core.model.message import Cookie, Property
from postroad.flow.administration.provisioning_changes import ProvisioningChanges
from tests.samples.provisioning_network import COOKIE, ProvisioningNetwork, provisioning_network
from tests.samples.push_receiver import Answer, Pushed, Receiver, receiver

DISPATCH, LEDGER, SHIPPING = "Parcels/Dispatch", "Books/Ledger", "MyBiz/Shipping"
FORMS: dict[str, Codec] = {"json": JSON_FORM, "soap11": SOAP11, "soap12": SOAP12}


@pytest.fixture(scope="module")
def receiving() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ProvisioningNetwork]:
    async with provisioning_network(tmp_path, push_allow_private=("127.0.0.0/8",)) as opened:
        yield opened


def told(pushed: Pushed) -> str:
    """Everything that a push tells, headers included."""
    return " ".join([pushed.path, *(f"{name}: {text}" for name, text in pushed.headers.items()), pushed.body.decode()])


@pytest.mark.req("N7", "N9", "Z5", "D3")
@pytest.mark.parametrize("form", FORMS)
async def test_a_push_to_a_hidden_provider_tells_nothing_of_the_first_sender(
    place: ProvisioningNetwork, receiving: Receiver, form: str
) -> None:
    path = f"/hidden-{form}"
    response = b'{"type": "response", "documents": [{"text": "picked up"}]}'
    receiving.answers[path] = lambda pushed: Answer(
        status=200, body=response if form == "json" else b"", headers={"Content-Type": "application/json"}
    )
    push = Push(url=receiving.url(path), authentication=PushAuthentication.NONE)
    await place.change(DISPATCH, delivery=DeliveryMode.PUSH, push=push, format=form)
    await connected(place)
    properties = (Property("colour", "red"),)
    session = await place.post(LEDGER, SHIPPING, topic="pick-up", handle="ledger-h-1", properties=properties)
    [pushed] = await asyncio.to_thread(receiving.wait_for, path, 1)
    [delivered] = FORMS[form].decode_delivered(pushed.body)
    assert (delivered.sender, delivered.sender_gcid) == (SHIPPING, place.service(SHIPPING).gcid)
    assert delivered.cookie == Cookie(COOKIE, "application/xml")
    assert (delivered.topic, delivered.properties, delivered.handle) == ("pick-up", properties, "")
    assert (delivered.invoker, delivered.trace) == (SHIPPING, ())
    whole = told(pushed).casefold()
    for word in ("books", "ledger", place.service(LEDGER).gcid, session, session[:12], "ledger-h-1"):
        assert word not in whole, word
    assert delivered.posted_at_us % 1_000_000 == 0
    assert re.fullmatch(r"msg_[0-9a-f]{32}", pushed.id)
    if form == "json":
        [answer] = await place.fetch(LEDGER, wait_s=20.0)
        assert answer.sender == SHIPPING
        assert "arcels" not in repr(answer)


@pytest.mark.req("N7", "Z5", "D3")
async def test_pushes_of_one_message_by_two_ways_have_nothing_in_common(
    place: ProvisioningNetwork, receiving: Receiver
) -> None:
    """Openly and through the account: the same words, and nothing by which the provider could tell that they are one message."""
    push = Push(url=receiving.url("/both"), authentication=PushAuthentication.NONE)
    await place.change(DISPATCH, delivery=DeliveryMode.PUSH, push=push, accepts=Accepts.ANYONE)
    await connected(place)
    await place.post(LEDGER, SHIPPING, DISPATCH, handle="ledger-h-2")
    pushes = await asyncio.to_thread(receiving.wait_for, "/both", 2)
    by_sender = {one.delivered.sender: one for one in pushes}
    hidden, openly = by_sender[SHIPPING], by_sender[LEDGER]
    assert openly.delivered.handle == "ledger-h-2"
    for name in ("session", "transaction", "token"):
        assert getattr(hidden.delivered, name) != getattr(openly.delivered, name)
        assert getattr(openly.delivered, name) not in told(hidden)
    assert hidden.id != openly.id
    numbers = [int(one.delivered.token.partition(".")[0], 16) for one in (hidden, openly)]
    assert abs(numbers[0] - numbers[1]) > 1_000_000, "numbers of neighbours would tell"


async def connected(place: ProvisioningNetwork) -> None:
    """MyBiz has an account with both providers."""
    trust = ProvisioningChanges(
        place.network.configuration, place.network.clock
    )  # by messages, the answers would be pushed, too
    for provider, service, cookie in (
        (DISPATCH, "Shipping", Cookie(COOKIE, "application/xml")),
        (LEDGER, "Accounts", None),
    ):
        begun = await place.begin(provider, service)
        await trust.confirm(place.service(provider), begun.gcid, begun.token, cookie)
