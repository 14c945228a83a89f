"""Mapped services: both scenarios of provisioning, and everything by which a hidden sender could be recognised."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Accepts, ConnectionPolicy, Role, Transport, Visibility
from postroad.core.model.message import Cookie, Delivered, Message, MessageType, Part, Recipient, Status
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.selector import Selector
from postroad.core.model.trust import Provisioning, token_hash
from postroad.errors import Refused
from postroad.flow.administration.messages.contents import read_message, read_part
from postroad.flow.administration.messages.explanations import explain_stored
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.flow.administration.provisioning_changes import ProvisioningChanges
from postroad.flow.push.request import build_webhook_id
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

DOCUMENT = (Part(id="1", content_type="text/plain", data=b"one order"),)
TOKEN = "0123456789abcdef"
COOKIE = Cookie("account 4711")
TELLING = ("first", "spy@first", "h-1")  # what would tell the provider who wrote


class House:
    """First/Out writes to Enterprise/Account, which stands for the enterprise's account with Second/In."""

    def __init__(self, running: MemoryNetwork) -> None:
        self.running = running
        self.network = running.network
        self.trust = ProvisioningChanges(self.network.configuration, self.network.clock)

    async def furnish(self) -> None:
        register = self.running.register
        self.first = await register("First/Out", visibility=Visibility.PUBLIC)
        self.enterprise = await register("Enterprise/Office")
        self.second = await register("Second/In", visibility=Visibility.PUBLIC, accepts=Accepts.PROVISIONED)
        self.other = await register("Second/Other", visibility=Visibility.PUBLIC)
        self.owner = await self.running.enroll("p@enterprise.example", organization="Enterprise")
        self.account = await register("Enterprise/Account", accepts=Accepts.LISTED, accepts_from=("First",))
        await self.begun()

    async def begun(self, *, expires_in_s: int = 3_600) -> None:
        now_us = self.network.clock.now_us()
        waiting = Provisioning(
            service=gcid(self.account), provider=gcid(self.second), started_by="p@enterprise.example",
            started_at_us=now_us, expires_at_us=now_us + expires_in_s * 1_000_000, token_hash=token_hash(TOKEN),
        )  # fmt: skip
        await self.network.configuration.change("test", [build_save(waiting)])

    async def confirmed(self) -> None:
        assert self.second.service is not None
        await self.trust.confirm(self.second.service, gcid(self.account), TOKEN, COOKIE)

    async def rule(self, owner: Caller, action: dict[str, Any], when: Any = "always", role: str = "any") -> None:
        entry = RuleEntry.model_validate({"name": "r", "when": when, "then": [action], "role": role})
        await self.network.configuration.change("test", [build_save(rule_of(entry, gcid(owner), 0))])

    async def change(self, caller: Caller, **fields: Any) -> Caller:
        """Change the profile of a service."""
        service = replace(self.network.directory.services[gcid(caller)], **fields)
        await self.network.configuration.change("test", [build_save(service)])
        return replace(caller, service=service)

    async def post(self, sender: Caller, *to: str, kind: MessageType = MessageType.REQUEST) -> str:
        message = Message(to=tuple(map(Recipient, to)), type=kind, handle="h-1", topic="order", parts=DOCUMENT)
        return (await self.network.post(sender, message)).session

    async def received(self, receiver: Caller, **selected: Any) -> list[Delivered]:
        return await self.network.poll(receiver, PollRequest(trace=True, select=Selector(**selected)))

    async def answer(self, receiver: Caller, delivered: Delivered, status: Status | None = None) -> Any:
        response = Message(type=MessageType.RESPONSE, reference=delivered.token, parts=DOCUMENT, status=status)
        return await self.network.post(receiver, response)


def gcid(caller: Caller) -> str:
    assert caller.service is not None
    return caller.service.gcid


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with memory_network() as running:
        furnished = House(running)
        await furnished.furnish()
        yield furnished


def tells_nothing(house: House, *told: Any) -> None:
    """Assert that nothing in what the provider was told speaks of the first sender."""
    text = b" ".join(msgspec.json.encode(one, enc_hook=str) for one in told).decode().casefold()
    for word in (*TELLING, gcid(house.first)):
        assert word not in text, f"{word!r} is told: {text}"


@pytest.mark.req("N7", "N9", "N12")
async def test_the_enterprise_writes_to_its_own_account_and_the_provider_is_told_the_cookie(house: House) -> None:
    await house.confirmed()
    await house.post(house.enterprise, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    assert (delivered.sender, delivered.sender_gcid) == ("Enterprise/Account", gcid(house.account))
    assert (delivered.cookie, delivered.parts, delivered.topic) == (COOKIE, DOCUMENT, "order")
    assert delivered.type is MessageType.REQUEST
    assert delivered.handle == ""
    await house.answer(house.second, delivered)
    [response] = await house.received(house.enterprise)
    assert (response.sender, response.invoker) == ("Enterprise/Account", "Enterprise/Account")
    assert response.cookie is None
    assert response.reference is not None
    assert response.reference.handle == "h-1"


@pytest.mark.req("N7")
async def test_a_message_of_the_account_straight_to_the_provider_carries_the_cookie_too(house: House) -> None:
    await house.confirmed()
    await house.post(house.account, "Second/In")
    [delivered] = await house.received(house.second)
    assert (delivered.sender, delivered.cookie) == ("Enterprise/Account", COOKIE)
    house.second = await house.change(house.second, accepts=Accepts.ANYONE)
    await house.post(house.enterprise, "Second/In")
    [other, straight] = await house.received(house.second, sender="Enterprise/Office") * 2
    assert (straight.sender, other.cookie) == ("Enterprise/Office", COOKIE)


@pytest.mark.req("N7", "Z5")
async def test_a_first_provider_reaches_a_second_one_that_never_learns_who_it_was(house: House) -> None:
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    tells_nothing(house, delivered, build_webhook_id(delivered))
    assert delivered.session != session
    assert delivered.posted_at_us % 1_000_000 == delivered.expires_at_us % 1_000_000 == 0
    assert delivered.cookie == COOKIE
    result = await house.answer(house.second, delivered, Status("sold-out", "sorry"))
    tells_nothing(house, result)
    assert [one.service for one in result.recipients] == ["Enterprise/Account"]
    assert result.transaction == delivered.transaction
    [response] = await house.received(house.first)
    assert (response.sender, response.status) == ("Enterprise/Account", Status("sold-out", "sorry"))
    assert response.reference is not None
    assert response.reference.session == session
    assert "second" not in msgspec.json.encode(response).decode().casefold()


@pytest.mark.req("N7", "Z5")
async def test_one_message_to_both_ways_is_two_messages_to_the_provider(house: House) -> None:
    """The same post reaches the second provider openly and through the account; nothing may join the two."""
    await house.confirmed()
    house.second = await house.change(house.second, accepts=Accepts.ANYONE)
    session = await house.post(house.first, "Enterprise/Account", "Second/In", kind=MessageType.NOTIFICATION)
    both = {one.sender: one for one in await house.received(house.second)}
    hidden, openly = both["Enterprise/Account"], both["First/Out"]
    assert openly.session == session
    assert not {hidden.session, hidden.transaction} & {openly.session, openly.transaction}
    numbers = [int(one.token.partition(".")[0], 16) >> 16 for one in (hidden, openly)]
    assert numbers[0] != numbers[1]
    for name, known, told in (("hidden", hidden, "Enterprise/Account"), ("open", openly, "First/Out")):
        [message] = (await load_history(house.network, house.second, known.session)).messages
        assert (message.sender, message.session, len(message.copies)) == (told, known.session, 1), name
        explained = await explain_stored(house.network, house.second, known.session)
        assert (explained.session, [copy.route for copy in explained.copies]) == (known.session, [("Second/In",)]), name
        assert (await read_part(house.network, house.second, known.session, "1")).data == b"one order"
    tells_nothing(house, await load_history(house.network, house.second, hidden.session))
    tells_nothing(house, await explain_stored(house.network, house.second, hidden.session))
    rows = (await browse(house.network, house.second, MessageSearch(box="received"))).rows
    assert {row["message"].session for row in rows} == {hidden.session, openly.session}


@pytest.mark.req("N7", "D2", "Z5")
async def test_nobody_finds_by_selecting_what_is_kept_from_them(house: House) -> None:
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    for selected in ({"sender": "First/Out"}, {"session": session}, {"transaction": session}):
        assert await house.received(house.second, **selected) == []
    shown = house.network.tokens.pseudonyms.session(session)
    assert await house.received(house.second, session=shown, transaction=session) == []
    [found] = await house.received(house.second, sender="Enterprise/Account", session=shown, transaction=shown)
    assert found.session == shown


@pytest.mark.req("N7", "Z5")
async def test_what_the_provider_reads_afterwards_tells_no_more(house: House) -> None:
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    answered = (await house.answer(house.second, delivered)).session
    person = await house.running.enroll("p@second.example", organization="Second")
    for asking in (house.second, person):
        for known in (delivered.session, answered):
            told = await load_history(house.network, asking, known)
            tells_nothing(house, told)
            assert {message.session for message in told.messages} == {delivered.session, answered}
            tells_nothing(house, await explain_stored(house.network, asking, known))
        for box in ("sent", "received"):
            [row] = (await browse(house.network, asking, MessageSearch(box=box))).rows
            assert row["message"].session in (delivered.session, answered)
        header, _ = await read_message(house.network, asking, delivered.session)
        assert (header.sender, header.handle) == (gcid(house.account), "")
        with pytest.raises(Refused, match="not-found"):
            await load_history(house.network, asking, session)
    [sent] = (await browse(house.network, house.second, MessageSearch(box="sent"))).rows
    assert sent["message"].answers.shown_requester == gcid(house.account)


@pytest.mark.req("N7", "Z5")
async def test_the_first_sender_sees_the_account_in_the_place_of_the_provider(house: House) -> None:
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    await house.answer(house.second, delivered)
    [response] = await house.received(house.first)
    for known in (session, response.session):
        told = await load_history(house.network, house.first, known)
        assert "second" not in msgspec.json.encode(told, enc_hook=str).decode().casefold()
        [request, answer] = told.messages
        assert [copy.recipient for copy in request.copies] == ["Enterprise/Account"] == [answer.sender]
        explained = await explain_stored(house.network, house.first, known)
        assert "second" not in msgspec.json.encode(explained, enc_hook=str).decode().casefold()
    told = await load_history(house.network, house.owner, session)
    assert {stop.service for copy in told.messages[0].copies for stop in copy.stops} == {"Second/In"}


@pytest.mark.req("N7", "R1", "Z5")
async def test_rules_of_either_side_see_the_one_between_them(house: House) -> None:
    await house.confirmed()
    watched = await house.running.register("Second/Watch", visibility=Visibility.PUBLIC)
    named = {"matches": {"header": "to", "value": "^F"}}
    await house.rule(house.second, {"addServiceAfter": "Second/Watch"}, named, role="sender")
    also = {"matches": {"header": "from", "value": "^S"}}
    await house.rule(house.first, {"addServiceBefore": "First/Out"}, also, role="recipient")
    await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    answered = (await house.answer(house.second, delivered)).session
    tells_nothing(house, await explain_stored(house.network, house.second, answered))
    assert await house.received(watched) == []
    [response] = await house.received(house.first)
    assert response.sender == "Enterprise/Account"
    told = await explain_stored(house.network, house.first, response.session)
    assert "second" not in msgspec.json.encode(told, enc_hook=str).decode().casefold()
    assert [one.service for one in told.services] == ["First/Out"]


@pytest.mark.req("N7", "R15", "Z5")
async def test_errors_on_the_way_back_do_not_name_who_asked(house: House) -> None:
    await house.confirmed()
    await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    await house.change(house.first, policy=ConnectionPolicy(transport=Transport.TLS))
    with pytest.raises(Refused) as refused:
        await house.answer(house.second, delivered)
    assert refused.value.code == "policy.transport"
    tells_nothing(house, str(refused.value))


@pytest.mark.req("N7", "M9", "Z5")
async def test_a_withdrawal_is_told_as_one_of_the_account(house: House) -> None:
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    await house.network.post(house.first, Message(type=MessageType.CANCEL, reference=session))
    told = await load_history(house.network, house.second, delivered.session)
    tells_nothing(house, told)
    assert [event.by for event in told.messages[0].copies[0].stops[0].events if event.what == "cancelled"] in (
        [], ["Enterprise/Account"], ["network"],
    )  # fmt: skip


@pytest.mark.req("N7")
async def test_what_the_provider_sends_to_the_account_is_for_the_enterprise(house: House) -> None:
    await house.confirmed()
    await house.post(house.second, "Enterprise/Account", kind=MessageType.NOTIFICATION)
    [event] = await house.received(house.account)
    assert (event.sender, event.in_transit) == ("Second/In", False)
    await house.post(house.second, "Enterprise/Office", kind=MessageType.NOTIFICATION)
    [trusted] = await house.received(house.enterprise)
    assert trusted.sender == "Second/In"
    with pytest.raises(Refused, match=r"recipient\.unknown"):
        await house.post(house.other, "Enterprise/Office")


@pytest.mark.req("N7")
async def test_a_response_to_a_request_of_the_account_comes_to_the_account(house: House) -> None:
    await house.confirmed()
    await house.rule(house.account, {"stopRuleEvaluation": True})
    await house.post(house.account, "First/Out")
    [asked] = await house.received(house.first)
    await house.answer(house.first, asked)
    [answer] = await house.received(house.account)
    assert (answer.sender, answer.type) == ("First/Out", MessageType.RESPONSE)


@pytest.mark.req("N7", "R13")
async def test_an_account_on_the_way_is_worked_on_by_its_provider(house: House) -> None:
    await house.confirmed()
    await house.rule(house.enterprise, {"addServiceAfter": "Enterprise/Account"}, role="sender")
    await house.post(house.enterprise, "First/Out", kind=MessageType.NOTIFICATION)
    [passing] = await house.received(house.second)
    assert (passing.sender, passing.type, passing.in_transit) == ("Enterprise/Account", MessageType.REQUEST, False)
    changed = Message(
        type=MessageType.RESPONSE,
        reference=passing.token,
        parts=(Part(id="1", content_type="text/plain", data=b"two"),),
    )
    result = await house.network.post(house.second, changed)
    assert (result.session, result.recipients) == (passing.session, ())
    [arrived] = await house.received(house.first)
    assert (arrived.sender, arrived.parts[0].data) == ("Enterprise/Office", b"two")


@pytest.mark.req("N8", "N10")
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_account_takes_messages_only_while_it_is_provisioned(house: House, moment: str) -> None:
    if moment == "after":
        await house.confirmed()
        await house.post(house.first, "Enterprise/Account")
        await house.trust.revoke(gcid(house.second), gcid(house.account), (gcid(house.second),))
        [waiting] = await house.received(house.second)
        assert waiting.cookie is None, "what was stored is delivered, the cookie is gone"
    with pytest.raises(Refused, match=r"recipient\.not-provisioned") as refused:
        await house.post(house.first, "Enterprise/Account")
    assert "Second" not in str(refused.value)
    for sender, to in ((house.account, "Second/In"), (house.second, "Enterprise/Office")):
        with pytest.raises(Refused, match=r"recipient\.(not-allowed|unknown)"):
            await house.post(sender, to)


@pytest.mark.req("N8")
async def test_a_confirmation_counts_once_in_time_with_its_token_from_its_provider(house: House) -> None:
    provider, other = house.second.service, house.other.service
    assert provider is not None
    assert other is not None
    account = gcid(house.account)
    for by, named, token in (
        (provider, account, "f" * 16), (other, account, TOKEN), (provider, gcid(house.enterprise), TOKEN),
        (provider, "f" * 16, TOKEN), (provider, account, ""),
    ):  # fmt: skip
        with pytest.raises(Refused, match=r"provisioning\.invalid"):
            await house.trust.confirm(by, named, token, COOKIE)
    assert not house.network.directory.cookies
    await house.begun(expires_in_s=-1)
    with pytest.raises(Refused, match=r"provisioning\.expired"):
        await house.trust.confirm(provider, account, TOKEN, COOKIE)
    await house.begun()
    await house.confirmed()
    with pytest.raises(Refused, match=r"provisioning\.invalid"):
        await house.trust.confirm(provider, account, TOKEN, Cookie("account of somebody else"))
    assert [item.content for item in house.network.directory.cookies.values()] == [COOKIE.content]


@pytest.mark.req("N8", "N11")
@pytest.mark.parametrize("change", [{"role": Role.VIEWER}, {"organization": "Elsewhere"}, None])
async def test_who_may_not_begin_any_more_is_not_confirmed(house: House, change: dict[str, Any] | None) -> None:
    person = house.owner.person
    assert person is not None
    if change is None:
        house.account = await house.change(house.account, suspended="unpaid")
    else:
        await house.network.configuration.change("test", [build_save(replace(person, **change))])
    with pytest.raises(Refused, match=r"provisioning\.invalid"):
        await house.confirmed()


@pytest.mark.req("N9", "Z5")
async def test_a_cookie_is_seen_by_its_service_alone(house: House) -> None:
    transit = await house.running.register("Transit/Stamp", visibility=Visibility.PUBLIC)
    await house.confirmed()
    await house.rule(house.account, {"addServiceBefore": "Transit/Stamp"})
    await house.post(house.enterprise, "Enterprise/Account", kind=MessageType.NOTIFICATION)
    [passing] = await house.received(transit)
    assert passing.cookie is None
    await house.answer(transit, passing)
    [delivered] = await house.received(house.second)
    assert delivered.cookie == COOKIE
    await house.network.settle(house.second, Settlement(tokens=(delivered.token,)))
    for asking in (house.owner, house.account, house.enterprise):
        for told in (
            await load_history(house.network, house.owner, passing.session),
            await browse(house.network, asking, MessageSearch(box="sent")),
        ):
            assert COOKIE.content not in msgspec.json.encode(told, enc_hook=str).decode()
