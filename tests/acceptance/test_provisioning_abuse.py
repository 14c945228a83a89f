"""Every way to misuse a provisioning, tried by messages: nothing is confirmed that should not be, and revoking holds at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroad.core.model.directory import Accepts
from postroad.core.model.message import Cookie, Message, MessageType
from postroad.core.model.trust import CONFIRM_WITHIN_S, ProvisioningState
from postroad.errors import Refused
from postroad.flow.administration.provisioning_changes import ProvisioningChanges
from tests.samples.provisioning_network import COOKIE, ProvisioningNetwork, provisioning_network

DISPATCH, LEDGER, SHIPPING = "Parcels/Dispatch", "Books/Ledger", "MyBiz/Shipping"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ProvisioningNetwork]:
    async with provisioning_network(tmp_path) as opened:
        yield opened


def state_of(place: ProvisioningNetwork, gcid: str) -> str:
    return place.network.directory.provisionings[gcid].state(place.clock.now_us())


@pytest.mark.req("N8")
async def test_a_confirmation_counts_once(place: ProvisioningNetwork) -> None:
    begun = await place.begin()
    assert await place.confirm(DISPATCH, begun.gcid, begun.token, COOKIE) == ""
    assert state_of(place, begun.gcid) == ProvisioningState.ACTIVE
    before = place.trust()
    assert await place.confirm(DISPATCH, begun.gcid, begun.token) == "provisioning.invalid"
    assert place.trust() == before


@pytest.mark.req("N8")
async def test_a_token_is_good_for_its_own_service_alone(place: ProvisioningNetwork) -> None:
    one, other = await place.begin(service="Shipping"), await place.begin(service="Second")
    before = place.trust()
    assert await place.confirm(DISPATCH, one.gcid, other.token, COOKIE) == "provisioning.invalid"
    assert await place.confirm(DISPATCH, other.gcid, one.token, COOKIE) == "provisioning.invalid"
    assert place.trust() == before


@pytest.mark.req("N8")
async def test_a_confirmation_after_a_day_changes_nothing_and_nobody_is_told(place: ProvisioningNetwork) -> None:
    begun, other = await place.begin(), await place.begin(service="Second")
    before = place.trust()
    place.clock.ahead_s = CONFIRM_WITHIN_S - 5
    assert await place.confirm(DISPATCH, other.gcid, other.token) == ""
    place.clock.ahead_s = CONFIRM_WITHIN_S + 5
    assert await place.confirm(DISPATCH, begun.gcid, begun.token, COOKIE) == "provisioning.expired"
    assert place.trust()[0][begun.gcid] == before[0][begun.gcid]
    assert place.trust()[1] == before[1]
    assert state_of(place, begun.gcid) == ProvisioningState.EXPIRED
    for service in ("MyBiz/Office", SHIPPING, DISPATCH):
        assert await place.fetch(service) == []


@pytest.mark.req("N8")
@pytest.mark.parametrize("who", [LEDGER, "Parcels/Other", "MyBiz/Office", SHIPPING, "Stranger/Out"])
async def test_nobody_confirms_but_the_provider_that_was_chosen(place: ProvisioningNetwork, who: str) -> None:
    begun = await place.begin()
    before = place.trust()
    assert await place.confirm(who, begun.gcid, begun.token, COOKIE) == "provisioning.invalid"
    assert place.trust() == before
    assert await place.confirm(DISPATCH, begun.gcid, begun.token) == "", "and the chosen one still can"


@pytest.mark.req("N8", "N10")
async def test_what_was_revoked_is_not_confirmed_by_an_old_token(place: ProvisioningNetwork) -> None:
    begun = await place.begin()
    assert (await place.ask("owner@mybiz", "DELETE", f"/v1/provisionings/{begun.gcid}")).status_code == 204
    before = place.trust()
    assert await place.confirm(DISPATCH, begun.gcid, begun.token, COOKIE) == "provisioning.invalid"
    assert place.trust() == before
    again = await place.begin()
    assert again.gcid == begun.gcid
    assert again.token != begun.token
    assert await place.confirm(DISPATCH, again.gcid, begun.token) == "provisioning.invalid"
    assert await place.confirm(DISPATCH, again.gcid, again.token) == ""


@pytest.mark.req("N8", "N10")
async def test_a_message_that_comes_again_after_a_crash_is_no_misuse(place: ProvisioningNetwork) -> None:
    """The network's own service is handed a message twice when it stops between carrying it out and answering."""
    begun, provider = await place.begin(), place.service(DISPATCH)
    trust = ProvisioningChanges(place.network.configuration, place.network.clock)
    for _ in range(2):
        await trust.confirm(provider, begun.gcid, begun.token, Cookie(COOKIE), said_in="session-1")
    with pytest.raises(Refused):
        await trust.confirm(provider, begun.gcid, begun.token, said_in="session-2")
    assert [one.content for one in place.network.directory.cookies.values()] == [COOKIE]
    for _ in range(2):
        await trust.revoke(provider.gcid, begun.gcid, (provider.gcid,), said_in="session-3")
    with pytest.raises(Refused):
        await trust.revoke(provider.gcid, begun.gcid, (provider.gcid,), said_in="session-4")
    again = await place.begin()
    assert await place.confirm(DISPATCH, again.gcid, again.token) == ""


@pytest.mark.req("N8", "N3")
async def test_whatever_is_wrong_is_refused_in_the_same_words(place: ProvisioningNetwork) -> None:
    begun, theirs = await place.begin(), await place.begin(LEDGER, "Accounts")
    office = place.service("MyBiz/Office").gcid
    answers = [
        await place.answered(DISPATCH, "provisioning.confirm", GCID=gcid, token=token)
        for gcid, token in (
            (begun.gcid, "0" * 16),
            (begun.gcid, begun.token + "0"),
            ("0" * 16, begun.token),
            (office, begun.token),
            (theirs.gcid, theirs.token),
            (SHIPPING, begun.token),
            ("x" * 500, "y" * 500),
        )
    ]
    assert answers[0] is not None
    assert answers == [answers[0]] * len(answers)


@pytest.mark.req("N8")
async def test_the_token_is_kept_nowhere(place: ProvisioningNetwork) -> None:
    begun = await place.begin()
    records = (await place.network.journal.read(0, 1 << 30)).records
    assert all(begun.token.encode() not in record.facts for record in records)
    for who in ("owner@mybiz", "owner@parcels", "operator"):
        for path in ("/v1/organizations/MyBiz/provisionings", f"/v1/provisionings/{begun.gcid}", "/v1/configuration"):
            assert begun.token not in (await place.ask(who, "GET", path)).text


BY = {
    "the provider's message": ("say", DISPATCH),
    "the account's own message": ("say", SHIPPING),
    "a person of the enterprise": ("ask", "developer@mybiz"),
    "a person of the provider": ("ask", "owner@parcels"),
    "an operator": ("ask", "operator"),
}


async def revoke(place: ProvisioningNetwork, by: str, gcid: str) -> None:
    way, who = BY[by]
    if way == "say":
        assert await place.say(who, "provisioning.revoke", GCID=gcid) == ""
    else:
        assert (await place.ask(who, "DELETE", f"/v1/provisionings/{gcid}")).status_code == 204


@pytest.mark.req("N10")
@pytest.mark.parametrize("by", BY)
async def test_a_revocation_holds_at_once_and_what_was_sent_before_stays(place: ProvisioningNetwork, by: str) -> None:
    gcid = await place.connect()
    await place.post("MyBiz/Office", SHIPPING, text="sent before")
    await revoke(place, by, gcid)
    assert state_of(place, gcid) == ProvisioningState.REVOKED
    assert place.network.directory.cookies == {}
    assert await code_of(place, "MyBiz/Office", SHIPPING) == "recipient.not-provisioned"
    assert await code_of(place, SHIPPING, DISPATCH) == "recipient.not-allowed"
    assert await code_of(place, DISPATCH, "MyBiz/Office") == "recipient.unknown"
    [waiting] = await place.fetch(DISPATCH)
    assert (waiting.parts[0].data, waiting.sender, waiting.cookie) == (b"sent before", SHIPPING, None)
    if BY[by][0] == "say":
        assert await place.say(BY[by][1], "provisioning.revoke", GCID=gcid) == "provisioning.unknown"
    else:
        again = await place.ask(BY[by][1], "DELETE", f"/v1/provisionings/{gcid}")
        assert (again.status_code, again.json()["code"]) == (404, "provisioning.unknown")


async def code_of(place: ProvisioningNetwork, sender: str, to: str) -> str:
    with pytest.raises(Refused) as refused:
        await place.post(sender, to)
    return refused.value.code


@pytest.mark.req("N10", "Z5")
@pytest.mark.parametrize("who", [LEDGER, "Parcels/Other", "MyBiz/Office", "Stranger/Out"])
async def test_only_the_two_parties_revoke(place: ProvisioningNetwork, who: str) -> None:
    gcid = await place.connect()
    before = place.trust()
    assert await place.say(who, "provisioning.revoke", GCID=gcid) == "provisioning.unknown"
    for person, status in (("owner@stranger", 404), ("owner@books", 404), ("viewer@mybiz", 403)):
        assert (await place.ask(person, "DELETE", f"/v1/provisionings/{gcid}")).status_code == status
    assert place.trust() == before


@pytest.mark.req("N12")
async def test_trust_goes_both_ways_and_no_further(place: ProvisioningNetwork) -> None:
    gcid = await place.connect()
    await place.post(SHIPPING, DISPATCH)  # the provider trusts the service that it has confirmed
    await place.post(DISPATCH, "MyBiz/Office")  # and may write to every service of the enterprise, private ones too
    await place.post(DISPATCH, gcid)
    assert await code_of(place, "MyBiz/Office", DISPATCH) == "recipient.not-allowed"
    assert await code_of(place, "Parcels/Other", "MyBiz/Office") == "recipient.unknown"
    assert await code_of(place, LEDGER, SHIPPING) == "recipient.unknown"
    await place.change(DISPATCH, accepts=Accepts.ANYONE)
    await place.post("MyBiz/Office", DISPATCH)
    seen = {one.sender: one.cookie for one in await place.fetch(DISPATCH)}
    assert seen == {SHIPPING: Cookie(COOKIE, "application/xml"), "MyBiz/Office": Cookie(COOKIE, "application/xml")}


@pytest.mark.req("N9")
async def test_a_service_registers_and_forgets_cookies_by_message(place: ProvisioningNetwork) -> None:
    stranger = place.service("Stranger/Out").gcid
    await place.change(DISPATCH, accepts=Accepts.ANYONE)
    assert await place.say(DISPATCH, "cookie.register", "<n>1</n>", GCID=stranger) == ""
    await place.post("Stranger/Out", DISPATCH)
    assert [one.cookie for one in await place.fetch(DISPATCH)] == [Cookie("<n>1</n>", "application/xml")]
    assert await place.say(DISPATCH, "cookie.register", GCID=stranger) == ""
    await place.post("Stranger/Out", DISPATCH)
    assert [one.cookie for one in await place.fetch(DISPATCH)] == [None]
    assert await place.say(DISPATCH, "cookie.register", "x" * 20_000, GCID=stranger) == "cookie.invalid"


@pytest.mark.req("N7", "M1")
async def test_a_request_through_an_account_comes_back_the_same_way(place: ProvisioningNetwork) -> None:
    await place.connect()
    await place.connect(LEDGER, "Accounts", "")
    await place.post(LEDGER, SHIPPING, topic="pick-up")
    [seen] = await place.fetch(DISPATCH)
    assert (seen.sender, seen.topic, seen.cookie) == (SHIPPING, "pick-up", Cookie(COOKIE, "application/xml"))
    await place.network.post(
        place.caller(DISPATCH), Message(type=MessageType.RESPONSE, reference=seen.token, parts=seen.parts)
    )
    [answer] = await place.fetch(LEDGER)
    assert (answer.sender, answer.type, answer.cookie) == (SHIPPING, MessageType.RESPONSE, None)
