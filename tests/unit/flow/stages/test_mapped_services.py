"""Mapped services: both scenarios of provisioning, and everything by which a hidden sender could be recognised."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from postroad.core.model.directory import Accepts, ConnectionPolicy, Role, Transport
from postroad.core.model.message import Cookie, MessageType, Status
from postroad.core.model.polling import Settlement
from postroad.errors import Refused
from postroad.flow.administration.messages.contents import read_message, read_part
from postroad.flow.administration.messages.explanations import explain_stored
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.flow.push.request import build_webhook_id
from postroad.testing import make_part
from tests.samples.account_scenario import (
    ACCOUNT,
    COOKIE,
    ENTERPRISE,
    FIRST,
    ORDER,
    OTHER,
    OWNER,
    SECOND,
    TOKEN,
    AccountScenario,
)

DOCUMENT = (make_part(ORDER),)


@pytest.fixture
async def scenario() -> AsyncIterator[AccountScenario]:
    async with AccountScenario() as scenario:
        yield scenario


@pytest.mark.req("N7", "N9", "N12")
async def test_the_enterprise_writes_to_its_own_account_and_the_provider_is_told_the_cookie(
    scenario: AccountScenario,
) -> None:
    await scenario.confirm()
    await scenario.request(ENTERPRISE, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    assert (delivered.sender, delivered.sender_gcid) == (ACCOUNT, scenario.gcid(ACCOUNT))
    assert (delivered.cookie, delivered.parts, delivered.topic) == (COOKIE, DOCUMENT, "order")
    assert delivered.type is MessageType.REQUEST
    assert delivered.handle == ""
    await scenario.respond(delivered, ORDER)
    [response] = await scenario.received(ENTERPRISE)
    assert (response.sender, response.invoker) == (ACCOUNT, ACCOUNT)
    assert response.cookie is None
    assert response.reference is not None
    assert response.reference.handle == "h-1"


@pytest.mark.req("N7")
async def test_a_message_of_the_account_straight_to_the_provider_carries_the_cookie_too(
    scenario: AccountScenario,
) -> None:
    await scenario.confirm()
    await scenario.request(ACCOUNT, "Second/In")
    [delivered] = await scenario.received(SECOND)
    assert (delivered.sender, delivered.cookie) == (ACCOUNT, COOKIE)
    await scenario.change(SECOND, accepts=Accepts.ANYONE)
    await scenario.request(ENTERPRISE, "Second/In")
    [other, straight] = await scenario.received(SECOND, sender="Enterprise/Office") * 2
    assert (straight.sender, other.cookie) == ("Enterprise/Office", COOKIE)


@pytest.mark.req("N7", "Z5")
async def test_a_first_provider_reaches_a_second_one_that_never_learns_who_it_was(scenario: AccountScenario) -> None:
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    scenario.assert_hides_first_sender(delivered, build_webhook_id(delivered))
    assert delivered.session != session
    assert delivered.posted_at_us % 1_000_000 == delivered.expires_at_us % 1_000_000 == 0
    assert delivered.cookie == COOKIE
    result = await scenario.respond(delivered, ORDER, status=Status("sold-out", "sorry"))
    scenario.assert_hides_first_sender(result)
    assert [one.service for one in result.recipients] == [ACCOUNT]
    assert result.transaction == delivered.transaction
    [response] = await scenario.received(FIRST)
    assert (response.sender, response.status) == (ACCOUNT, Status("sold-out", "sorry"))
    assert response.reference is not None
    assert response.reference.session == session
    assert "second" not in msgspec.json.encode(response).decode().casefold()


@pytest.mark.req("N7", "Z5")
async def test_a_message_sent_openly_and_through_the_account_is_two_messages_to_the_provider(
    scenario: AccountScenario,
) -> None:
    """The same post reaches the second provider openly and through the account; nothing may join the two."""
    await scenario.confirm()
    await scenario.change(SECOND, accepts=Accepts.ANYONE)
    session = await scenario.request(FIRST, ACCOUNT, "Second/In", type=MessageType.NOTIFICATION)
    both = {one.sender: one for one in await scenario.received(SECOND)}
    hidden, openly = both[ACCOUNT], both["First/Out"]
    assert openly.session == session
    assert not {hidden.session, hidden.transaction} & {openly.session, openly.transaction}
    numbers = [int(one.token.partition(".")[0], 16) >> 16 for one in (hidden, openly)]
    assert numbers[0] != numbers[1]
    for name, known, told in (("hidden", hidden, ACCOUNT), ("open", openly, "First/Out")):
        [message] = (await load_history(scenario.network, scenario.caller(SECOND), known.session)).messages
        assert (message.sender, message.session, len(message.copies)) == (told, known.session, 1), name
        explained = await explain_stored(scenario.network, scenario.caller(SECOND), known.session)
        assert (explained.session, [copy.route for copy in explained.copies]) == (known.session, [("Second/In",)]), name
        assert (await read_part(scenario.network, scenario.caller(SECOND), known.session, "1")).data == b"one order"
    scenario.assert_hides_first_sender(await load_history(scenario.network, scenario.caller(SECOND), hidden.session))
    scenario.assert_hides_first_sender(await explain_stored(scenario.network, scenario.caller(SECOND), hidden.session))
    rows = (await browse(scenario.network, scenario.caller(SECOND), MessageSearch(box="received"))).rows
    assert {row["message"].session for row in rows} == {hidden.session, openly.session}


@pytest.mark.req("N7", "D2", "Z5")
async def test_selecting_by_hidden_values_finds_nothing(scenario: AccountScenario) -> None:
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    for selected in ({"sender": "First/Out"}, {"session": session}, {"transaction": session}):
        assert await scenario.received(SECOND, **selected) == []
    shown = scenario.network.tokens.pseudonyms.session(session)
    assert await scenario.received(SECOND, session=shown, transaction=session) == []
    [found] = await scenario.received(SECOND, sender=ACCOUNT, session=shown, transaction=shown)
    assert found.session == shown


@pytest.mark.req("N7", "Z5")
async def test_histories_do_not_name_the_first_sender_to_the_provider(scenario: AccountScenario) -> None:
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    answered = (await scenario.respond(delivered, ORDER)).session
    person = await scenario.person("p@second.example", "Second")
    for asking in (scenario.caller(SECOND), person):
        for known in (delivered.session, answered):
            told = await load_history(scenario.network, asking, known)
            scenario.assert_hides_first_sender(told)
            assert {message.session for message in told.messages} == {delivered.session, answered}
            scenario.assert_hides_first_sender(await explain_stored(scenario.network, asking, known))
        for box in ("sent", "received"):
            [row] = (await browse(scenario.network, asking, MessageSearch(box=box))).rows
            assert row["message"].session in (delivered.session, answered)
        header, _ = await read_message(scenario.network, asking, delivered.session)
        assert (header.sender, header.handle) == (scenario.gcid(ACCOUNT), "")
        with pytest.raises(Refused, match="not-found"):
            await load_history(scenario.network, asking, session)
    [sent] = (await browse(scenario.network, scenario.caller(SECOND), MessageSearch(box="sent"))).rows
    assert sent["message"].answers.shown_requester == scenario.gcid(ACCOUNT)


@pytest.mark.req("N7", "Z5")
async def test_the_first_sender_sees_the_account_in_the_place_of_the_provider(scenario: AccountScenario) -> None:
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    await scenario.respond(delivered, ORDER)
    [response] = await scenario.received(FIRST)
    for known in (session, response.session):
        told = await load_history(scenario.network, scenario.caller(FIRST), known)
        assert "second" not in msgspec.json.encode(told, enc_hook=str).decode().casefold()
        [request, answer] = told.messages
        assert [copy.recipient for copy in request.copies] == [ACCOUNT] == [answer.sender]
        explained = await explain_stored(scenario.network, scenario.caller(FIRST), known)
        assert "second" not in msgspec.json.encode(explained, enc_hook=str).decode().casefold()
    told = await load_history(scenario.network, scenario.caller(OWNER), session)
    assert {stop.service for copy in told.messages[0].copies for stop in copy.stops} == {"Second/In"}


@pytest.mark.req("N7", "R1", "Z5")
async def test_rules_of_either_side_see_the_one_between_them(scenario: AccountScenario) -> None:
    await scenario.confirm()
    watched = await scenario.service("Second/Watch")
    named = {"matches": {"header": "to", "value": "^F"}}
    await scenario.rule(SECOND, {"addServiceAfter": "Second/Watch"}, when=named, role="sender")
    also = {"matches": {"header": "from", "value": "^S"}}
    await scenario.rule(FIRST, {"addServiceBefore": "First/Out"}, when=also, role="recipient")
    await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    answered = (await scenario.respond(delivered, ORDER)).session
    scenario.assert_hides_first_sender(await explain_stored(scenario.network, scenario.caller(SECOND), answered))
    assert await scenario.received(watched) == []
    [response] = await scenario.received(FIRST)
    assert response.sender == ACCOUNT
    told = await explain_stored(scenario.network, scenario.caller(FIRST), response.session)
    assert "second" not in msgspec.json.encode(told, enc_hook=str).decode().casefold()
    assert [one.service for one in told.services] == ["First/Out"]


@pytest.mark.req("N7", "R15", "Z5")
async def test_errors_on_the_way_back_do_not_name_who_asked(scenario: AccountScenario) -> None:
    await scenario.confirm()
    await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    await scenario.change(FIRST, policy=ConnectionPolicy(transport=Transport.TLS))
    with pytest.raises(Refused) as refused:
        await scenario.respond(delivered, ORDER)
    assert refused.value.code == "policy.transport"
    scenario.assert_hides_first_sender(str(refused.value))


@pytest.mark.req("N7", "M9", "Z5")
async def test_a_withdrawal_is_told_as_one_of_the_account(scenario: AccountScenario) -> None:
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    await scenario.post(FIRST, type=MessageType.CANCEL, reference=session)
    told = await load_history(scenario.network, scenario.caller(SECOND), delivered.session)
    scenario.assert_hides_first_sender(told)
    assert [event.by for event in told.messages[0].copies[0].stops[0].events if event.what == "cancelled"] in (
        [], [ACCOUNT], ["network"],
    )  # fmt: skip


@pytest.mark.req("N7")
async def test_messages_of_the_provider_to_the_account_reach_the_enterprise(scenario: AccountScenario) -> None:
    await scenario.confirm()
    await scenario.request(SECOND, ACCOUNT, type=MessageType.NOTIFICATION)
    [event] = await scenario.received(ACCOUNT)
    assert (event.sender, event.in_transit) == ("Second/In", False)
    await scenario.request(SECOND, "Enterprise/Office", type=MessageType.NOTIFICATION)
    [trusted] = await scenario.received(ENTERPRISE)
    assert trusted.sender == "Second/In"
    with pytest.raises(Refused, match=r"recipient\.unknown"):
        await scenario.request(OTHER, "Enterprise/Office")


@pytest.mark.req("N7")
async def test_a_response_to_a_request_of_the_account_comes_to_the_account(scenario: AccountScenario) -> None:
    await scenario.confirm()
    await scenario.rule(ACCOUNT, {"stopRuleEvaluation": True})
    await scenario.request(ACCOUNT, "First/Out")
    [asked] = await scenario.received(FIRST)
    await scenario.respond(asked, ORDER)
    [answer] = await scenario.received(ACCOUNT)
    assert (answer.sender, answer.type) == ("First/Out", MessageType.RESPONSE)


@pytest.mark.req("N7", "R13")
async def test_an_account_on_the_way_is_worked_on_by_its_provider(scenario: AccountScenario) -> None:
    await scenario.confirm()
    await scenario.rule(ENTERPRISE, {"addServiceAfter": ACCOUNT}, role="sender")
    await scenario.request(ENTERPRISE, "First/Out", type=MessageType.NOTIFICATION)
    [passing] = await scenario.received(SECOND)
    assert (passing.sender, passing.type, passing.in_transit) == (ACCOUNT, MessageType.REQUEST, False)
    result = await scenario.respond(passing, "two")
    assert (result.session, result.recipients) == (passing.session, ())
    [arrived] = await scenario.received(FIRST)
    assert (arrived.sender, arrived.parts[0].data) == ("Enterprise/Office", b"two")


@pytest.mark.req("N8", "N10")
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_account_takes_messages_only_while_it_is_provisioned(scenario: AccountScenario, moment: str) -> None:
    if moment == "after":
        await scenario.confirm()
        await scenario.request(FIRST, ACCOUNT)
        await scenario.trust.revoke(scenario.gcid(SECOND), scenario.gcid(ACCOUNT), (scenario.gcid(SECOND),))
        [waiting] = await scenario.received(SECOND)
        assert waiting.cookie is None, "what was stored is delivered, the cookie is gone"
    with pytest.raises(Refused, match=r"recipient\.not-provisioned") as refused:
        await scenario.request(FIRST, ACCOUNT)
    assert "Second" not in str(refused.value)
    for sender, to in ((scenario.caller(ACCOUNT), "Second/In"), (scenario.caller(SECOND), "Enterprise/Office")):
        with pytest.raises(Refused, match=r"recipient\.(not-allowed|unknown)"):
            await scenario.request(sender, to)


@pytest.mark.req("N8")
async def test_a_confirmation_counts_once_in_time_with_its_token_from_its_provider(scenario: AccountScenario) -> None:
    provider, other = scenario.caller(SECOND).service, scenario.caller(OTHER).service
    assert provider is not None
    assert other is not None
    account = scenario.gcid(ACCOUNT)
    for by, named, token in (
        (provider, account, "f" * 16), (other, account, TOKEN), (provider, scenario.gcid(ENTERPRISE), TOKEN),
        (provider, "f" * 16, TOKEN), (provider, account, ""),
    ):  # fmt: skip
        with pytest.raises(Refused, match=r"provisioning\.invalid"):
            await scenario.trust.confirm(by, named, token, COOKIE)
    assert not scenario.network.directory.cookies
    await scenario.begin_provisioning(expires_in_s=-1)
    with pytest.raises(Refused, match=r"provisioning\.expired"):
        await scenario.trust.confirm(provider, account, TOKEN, COOKIE)
    await scenario.begin_provisioning()
    await scenario.confirm()
    with pytest.raises(Refused, match=r"provisioning\.invalid"):
        await scenario.trust.confirm(provider, account, TOKEN, Cookie("account of somebody else"))
    assert [item.content for item in scenario.network.directory.cookies.values()] == [COOKIE.content]


@pytest.mark.req("N8", "N11")
@pytest.mark.parametrize("change", [{"role": Role.VIEWER}, {"organization": "Elsewhere"}, None])
async def test_a_provisioning_is_not_confirmed_when_its_starter_lost_the_right(
    scenario: AccountScenario, change: dict[str, Any] | None
) -> None:
    person = scenario.caller(OWNER).person
    assert person is not None
    if change is None:
        await scenario.change(ACCOUNT, suspended="unpaid")
    else:
        await scenario.save(replace(person, **change))
    with pytest.raises(Refused, match=r"provisioning\.invalid"):
        await scenario.confirm()


@pytest.mark.req("N9", "Z5")
async def test_a_cookie_is_seen_by_its_service_alone(scenario: AccountScenario) -> None:
    transit = await scenario.service("Transit/Stamp")
    await scenario.confirm()
    await scenario.rule(ACCOUNT, {"addServiceBefore": "Transit/Stamp"})
    await scenario.request(ENTERPRISE, ACCOUNT, type=MessageType.NOTIFICATION)
    [passing] = await scenario.received(transit)
    assert passing.cookie is None
    await scenario.respond(passing, ORDER)
    [delivered] = await scenario.received(SECOND)
    assert delivered.cookie == COOKIE
    await scenario.network.settle(scenario.caller(SECOND), Settlement(tokens=(delivered.token,)))
    for asking in (scenario.caller(OWNER), scenario.caller(ACCOUNT), scenario.caller(ENTERPRISE)):
        for told in (
            await load_history(scenario.network, scenario.caller(OWNER), passing.session),
            await browse(scenario.network, asking, MessageSearch(box="sent")),
        ):
            assert COOKIE.content not in msgspec.json.encode(told, enc_hook=str).decode()
