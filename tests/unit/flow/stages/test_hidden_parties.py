"""What goes wrong between two that are kept from each other: errors, refusals, lists and ways back name neither to the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from postroad.api.resources.message_views import summary
from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Accepts, ConnectionPolicy, DocumentAccess, Service, Transport, Visibility
from postroad.core.model.message import Argument, Delivered, Message, MessageType, Part, Recipient, Status
from postroad.core.model.reason import Reason
from postroad.errors import Refused
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.base import build_removal
from postroad.flow.administration.dead_letters import resend
from postroad.flow.administration.messages.contents import list_parts_at_stop
from postroad.flow.administration.messages.explanations import explain_stored
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.flow.administration.try_out.rules import load_stored_message
from postroad.flow.registries.configuration import build_save
from tests.unit.flow.stages.test_mapped_services import House, gcid, house, tells_nothing

__all__ = ["house"]  # the fixture


def names_no_provider(house: House, *told: Any) -> None:
    """Assert that nothing in what the first sender was told speaks of the provider."""
    text = b" ".join(msgspec.json.encode(one, enc_hook=str) for one in told).decode().casefold()
    for word in ("second", gcid(house.second)):
        assert word not in text, f"{word!r} is told: {text}"


async def asked(house: House) -> Delivered:
    """A request of the first sender's at the provider."""
    await house.confirmed()
    await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    return delivered


async def remove(house: House, caller: Caller) -> None:
    trust = map(build_removal, house.network.directory.trust_of(gcid(caller)))
    await house.network.configuration.change("test", [build_removal(service_of(caller)), *trust])


def service_of(caller: Caller) -> Service:
    assert caller.service is not None
    return caller.service


async def give_up(house: House, delivered: Delivered, why: Reason) -> None:
    """As a push does after its last try."""
    number = house.network.tokens.number(delivered.token)
    found = await house.network.desk.find(number) if number is not None else None
    assert found is not None
    await house.network.ending.give_up(found.queued, "failed", why)


async def with_stamp(house: House, role: str) -> Caller:
    """A service of the provider's that its messages pass."""
    stamp = await house.running.register("Second/Stamp", visibility=Visibility.PUBLIC)
    side = "addServiceAfter" if role == "sender" else "addServiceBefore"
    await house.rule(house.second, {side: "Second/Stamp"}, role=role)
    return stamp


@pytest.mark.req("N7", "Z5")
async def test_a_push_that_failed_does_not_tell_the_first_sender_where(house: House) -> None:
    delivered = await asked(house)
    await give_up(house, delivered, make_reason("push.nothing-listens", host="hooks.second.example"))
    [error] = await house.received(house.first)
    assert error.status is not None
    assert error.status.code == "route.failed"
    names_no_provider(house, error)


@pytest.mark.req("N7", "Z5")
async def test_an_account_that_is_removed_meanwhile_still_stands_between_them(house: House) -> None:
    delivered = await asked(house)
    await remove(house, house.account)
    result = await house.answer(house.second, delivered)
    assert [one.service for one in result.recipients] == [gcid(house.account)]
    tells_nothing(house, result, await load_history(house.network, house.second, result.session))
    [response] = await house.received(house.first)
    names_no_provider(house, response, await load_history(house.network, house.first, response.session))


@pytest.mark.req("N7", "Z5")
async def test_an_error_response_in_the_place_of_a_removed_account_does_not_come_from_the_provider(
    house: House,
) -> None:
    delivered = await asked(house)
    await remove(house, house.account)
    await give_up(house, delivered, make_reason("delivery.not-acknowledged", count=9))
    [error] = await house.received(house.first)
    assert error.sender_gcid == gcid(house.account)
    names_no_provider(house, error)


@pytest.mark.req("N7", "Z5")
@pytest.mark.parametrize("status", [None, Status("broken", "no")])
async def test_a_second_answer_is_refused_without_the_session_that_others_know(
    house: House, status: Status | None
) -> None:
    await house.confirmed()
    await house.running.register("Third/End", visibility=Visibility.PUBLIC)
    await house.rule(house.first, {"addServiceAfter": "Enterprise/Account"}, role="sender")
    await house.post(house.first, "Third/End")
    [passing] = await house.received(house.second)
    await house.answer(house.second, passing)
    with pytest.raises(Refused, match=r"reference\.answered") as refused:
        await house.answer(house.second, passing, status)
    assert refused.value.session == passing.session


@pytest.mark.req("N7", "Z5")
async def test_lists_and_trials_show_the_first_sender_no_provider(house: House) -> None:
    delivered = await asked(house)
    await house.answer(house.second, delivered)
    [response] = await house.received(house.first)
    names_no_provider(house, await load_stored_message(house.network, house.first, response.session))
    for box in ("sent", "received"):
        [row] = (await browse(house.network, house.first, MessageSearch(box=box))).rows
        names_no_provider(house, summary(box, row, house.network.directory))
        [row] = (await browse(house.network, house.second, MessageSearch(box=box))).rows
        tells_nothing(house, summary(box, row, house.network.directory))
    await house.post(house.enterprise, "Enterprise/Account")
    [row] = (await browse(house.network, house.enterprise, MessageSearch(box="sent"))).rows
    assert summary("sent", row, house.network.directory)["recipients"] == ["Second/In"], "the enterprise may know"


@pytest.mark.req("N7", "R13", "Z5")
async def test_what_a_response_passes_on_either_side_is_for_that_side(house: House) -> None:
    stamp = await with_stamp(house, "sender")
    delivered = await asked(house)
    await house.answer(house.second, delivered)
    [passing] = await house.received(stamp)
    tells_nothing(house, passing)
    assert passing.reference is not None
    assert (passing.transaction, passing.reference.session) == (delivered.transaction, delivered.session)
    assert passing.expires_at_us == delivered.expires_at_us
    result = await house.answer(stamp, passing)
    tells_nothing(house, result)
    assert result.transaction == delivered.transaction
    [response] = await house.received(house.first)
    assert response.trace == ()
    names_no_provider(house, response)


@pytest.mark.req("N7", "R15", "Z5")
@pytest.mark.parametrize("role", ["sender", "recipient"])
async def test_a_failure_on_the_provider_s_side_names_nobody(house: House, role: str) -> None:
    stamp = await with_stamp(house, role)
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    if role == "sender":
        [delivered] = await house.received(house.second)
        await house.answer(house.second, delivered)
    [passing] = await house.received(stamp)
    await house.answer(stamp, passing, Status("broken", "the stamp of Second is broken"))
    [error] = await house.received(house.first)
    assert error.status is not None
    assert error.status.code == "route.failed"
    names_no_provider(house, error, await load_history(house.network, house.first, session))


@pytest.mark.req("N7", "N11", "Z5")
async def test_a_way_back_that_is_closed_on_the_provider_s_side_names_nobody(house: House) -> None:
    stamp = await with_stamp(house, "sender")
    delivered = await asked(house)
    await house.change(stamp, suspended="unpaid")
    with pytest.raises(Refused, match="suspended") as refused:
        await house.answer(house.second, delivered)
    tells_nothing(house, str(refused.value))
    [error] = await house.received(house.first)
    names_no_provider(house, error)


@pytest.mark.req("N7", "R14", "Z5")
@pytest.mark.parametrize("fault", ["suspended", "gone", "logical only", "policy", "misplaced rule", "circle"])
async def test_a_refusal_does_not_name_the_provider_that_made_the_route_invalid(house: House, fault: str) -> None:
    await house.confirmed()
    match fault:
        case "suspended":
            await house.change(house.second, suspended="unpaid")
        case "gone":
            await house.network.configuration.change("test", [build_removal(service_of(house.second))])
        case "logical only":
            await house.change(house.second, logical_only=True)
        case "policy":
            await house.change(house.second, policy=ConnectionPolicy(transport=Transport.TLS))
        case "misplaced rule":
            await house.rule(house.second, {"addServiceAfter": "Second/Other"})
        case _:
            await house.rule(house.second, {"redirect": "Enterprise/Account"})
    with pytest.raises(Refused) as refused:
        await house.post(house.first, "Enterprise/Account")
    names_no_provider(house, str(refused.value))
    caller = replace(house.enterprise, secure=fault == "policy")
    with pytest.raises(Refused) as refused:
        await house.post(caller, "Enterprise/Account")
    assert fault in ("gone", "policy") or "second" in str(refused.value).casefold(), "its owner is told who it is"


@pytest.mark.req("N7", "D2", "Z5")
async def test_nobody_on_the_provider_s_side_finds_by_selecting_what_was_asked(house: House) -> None:
    stamp = await with_stamp(house, "sender")
    await house.confirmed()
    session = await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    await house.answer(house.second, delivered)
    assert await house.received(stamp, transaction=session) == []
    [found] = await house.received(stamp, transaction=delivered.transaction)
    assert found.transaction == delivered.transaction


@pytest.mark.req("N7", "R16", "Z5")
async def test_rules_of_the_provider_see_no_time_more_exact_than_a_second(house: House) -> None:
    await house.confirmed()
    since = {"greaterThan": {"header": "postedAt", "value": "2000-01-01T00:00:00Z", "as": "date"}}
    await house.rule(house.second, {"stopRuleEvaluation": True}, since, role="recipient")
    await house.post(house.first, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    [tried] = (await explain_stored(house.network, house.second, delivered.session)).services
    told = tried.rules[0].told
    assert told is not None
    assert told.held
    assert told.seen == (write_time(delivered.posted_at_us),)


@pytest.mark.req("D7", "N7", "N11", "Z5")
@pytest.mark.parametrize("fault", ["account", "enterprise", "revoked", "account gone", "sender", "provider"])
async def test_what_failed_at_the_provider_is_resent_only_while_its_way_is_open(house: House, fault: str) -> None:
    delivered = await asked(house)
    await give_up(house, delivered, make_reason("push.nothing-listens", host="hooks.second.example"))
    enroll = house.running.enroll
    people = [await enroll(f"p@{name}.example", organization=name) for name in ("First", "Second")]
    [[first], [second]] = [
        (await letters.browse(house.network, one, letters.DeadLetterSearch())).found for one in people
    ]
    names_no_provider(house, replace(first.letter, number=0))
    tells_nothing(house, replace(second.letter, number=0))
    match fault:
        case "enterprise":
            enterprise = house.network.directory.organization("Enterprise")
            assert enterprise is not None
            await house.network.configuration.change("test", [build_save(replace(enterprise, suspended="unpaid"))])
        case "revoked":
            await house.trust.revoke(gcid(house.second), gcid(house.account), (gcid(house.second),))
        case "account gone":
            await remove(house, house.account)
        case _:
            one = {"account": house.account, "sender": house.first, "provider": house.second}[fault]
            await house.change(one, suspended="unpaid")
    for person, found, is_told_nothing in zip(people, (first, second), (names_no_provider, tells_nothing), strict=True):
        with pytest.raises(Refused, match=r"suspended|recipient\.not-allowed") as refused:
            await resend(house.network, person, found.letter.id, "mended")
        is_told_nothing(house, str(refused.value))


@pytest.mark.req("N7", "M7", "Z5")
async def test_the_number_behind_a_pseudonym_is_not_found_by_trying(house: House) -> None:
    """A number tells which messages were posted together; after a restart no desk remembers which token it gave out."""
    delivered = await asked(house)
    tokens, network = house.network.tokens, house.network
    number, proof = tokens.number(delivered.token), delivered.token.partition(".")[2]
    assert number is not None
    found = await network.desk.find(number)
    assert found is not None
    found.queued.token = ""
    with pytest.raises(Refused, match=r"reference\.invalid"):
        await house.answer(house.second, replace_token(delivered, f"{number:x}.{proof}"))
    with pytest.raises(Refused, match="not-found"):
        await list_parts_at_stop(network, house.second, delivered.session, number)
    assert await list_parts_at_stop(network, house.second, delivered.session, tokens.pseudonyms.number(number))
    assert await house.answer(house.second, delivered)


def replace_token(delivered: Delivered, token: str) -> Delivered:
    return msgspec.structs.replace(delivered, token=token)


@pytest.mark.req("N7", "Z1", "Z5")
async def test_the_provider_is_not_found_by_excepting_it_from_a_policy(house: House) -> None:
    await house.confirmed()
    await house.change(house.account, policy=ConnectionPolicy(transport=Transport.TLS))
    told = set()
    for guess in ("Second", "Third"):
        policy = ConnectionPolicy(transport=Transport.TLS, except_for=(guess, "Enterprise"))
        sender = replace(await house.change(house.first, policy=policy), secure=True)
        with pytest.raises(Refused, match=r"policy\.transport") as refused:
            await house.post(sender, "Enterprise/Account")
        told.add(str(refused.value))
    assert len(told) == 1


@pytest.mark.req("N7", "Z1", "Z5")
async def test_the_first_sender_is_not_found_by_excepting_it_from_a_policy(house: House) -> None:
    delivered = await asked(house)
    told = set()
    for guess in ("First", "Third"):
        policy = ConnectionPolicy(transport=Transport.TLS, except_for=(guess,))
        house.second = replace(await house.change(house.second, policy=policy), secure=True)
        for attempt in (house.answer(house.second, delivered), house.post(house.first, "Enterprise/Account")):
            with pytest.raises(Refused, match=r"policy\.transport") as refused:
                await attempt
            told.add(str(refused.value))
    assert len(told) == 2, "one refusal for each, whatever was guessed"


@pytest.mark.req("N7", "Z1")
async def test_the_enterprise_itself_may_be_excepted_by_its_provider(house: House) -> None:
    policy = ConnectionPolicy(transport=Transport.TLS, except_for=("Enterprise",))
    await house.confirmed()
    house.second = replace(await house.change(house.second, policy=policy), secure=True)
    await house.post(house.enterprise, "Enterprise/Account")
    [delivered] = await house.received(house.second)
    await house.answer(house.second, delivered)
    assert len(await house.received(house.enterprise)) == 1


@pytest.mark.req("N5", "N7")
async def test_what_is_withheld_from_an_account_on_the_way_is_withheld_from_its_provider(house: House) -> None:
    await house.confirmed()
    end = await house.running.register("Third/End", visibility=Visibility.PUBLIC)
    await house.rule(house.first, {"addServiceAfter": "Enterprise/Account"}, role="sender")
    withheld = (DocumentAccess(service="Enterprise", read=("open",), change=("open",)),)
    await house.change(house.first, document_access=withheld)
    parts = tuple(Part(id=name, content_type="text/plain", data=b"x") for name in ("open", "secret"))
    await house.network.post(house.first, Message(to=(Recipient("Third/End"),), parts=parts))
    [passing] = await house.received(house.second)
    assert [part.id for part in passing.parts] == ["open"]
    number = house.network.tokens.pseudonyms.number(house.network.tokens.number(passing.token) or 0)
    assert [one.id for one in await list_parts_at_stop(house.network, house.second, passing.session, number)] == [
        "open"
    ]
    changed = (Part(id="open", content_type="text/plain", data=b"changed"),)
    await house.network.post(house.second, Message(type=MessageType.RESPONSE, reference=passing.token, parts=changed))
    [arrived] = await house.received(end)
    assert {part.id: part.data for part in arrived.parts} == {"open": b"changed", "secret": b"x"}


@pytest.mark.req("N7", "R12", "Z5")
async def test_whom_a_message_passes_before_an_account_is_not_told_of_its_provider(house: House) -> None:
    await house.confirmed()
    third = await house.running.register("Third/Stamp", visibility=Visibility.PUBLIC)
    to = Recipient("Enterprise/Account", (Argument("pin", "1234"),))
    message = Message(type=MessageType.REQUEST, to=(to,), route=(Recipient("Third/Stamp"),))
    session = (await house.network.post(house.first, message)).session
    [passing] = await house.received(third)
    told = await load_history(house.network, third, session)
    assert [copy.recipient for copy in told.messages[0].copies] == ["Enterprise/Account"]
    tried = await load_stored_message(house.network, third, session)
    assert tried.to == (Recipient("Enterprise/Account"),), "nor what only the recipient is told"
    names_no_provider(house, passing, told, tried, await explain_stored(house.network, third, session))
    await house.answer(third, passing)
    names_no_provider(house, await load_history(house.network, third, session))
    known = await house.network.trace(session, "Enterprise")
    assert known is not None
    assert known.messages[0].copies[0].recipient == "Second/In", "the enterprise may know"


@pytest.mark.req("N7", "R13", "Z5")
async def test_whom_a_response_passes_on_the_provider_s_side_is_not_told_afterwards_who_asked(house: House) -> None:
    third = await house.running.register("Third/Stamp", visibility=Visibility.PUBLIC)
    await house.rule(house.second, {"addServiceAfter": "Third/Stamp"}, role="sender")
    delivered = await asked(house)
    response = await house.answer(house.second, delivered)
    [passing] = await house.received(third)
    told = await load_history(house.network, third, response.session)
    tells_nothing(house, passing, told, await explain_stored(house.network, third, response.session))
    assert (told.transaction, told.messages[0].answers) == (passing.transaction, delivered.session)
    assert [copy.recipient for copy in told.messages[0].copies] == ["Enterprise/Account"]
    assert [stop.service for copy in told.messages[0].copies for stop in copy.stops] == ["Third/Stamp"]


@pytest.mark.req("R12", "Z5")
async def test_what_is_tried_again_tells_nobody_what_another_was_told(house: House) -> None:
    third = await house.running.register("Third/End", visibility=Visibility.PUBLIC)
    action = {"redirect": "Second/Other", "isolate": True, "arguments": {"pin": "theirs"}}
    await house.rule(third, action, role="recipient")
    to = (Recipient("Third/End", (Argument("pin", "ours"),)),)
    session = (await house.network.post(house.first, Message(to=to))).session
    assert (await load_stored_message(house.network, house.first, session)).to == to
    [delivered] = await house.received(house.other)
    [given] = (await load_stored_message(house.network, house.other, delivered.session)).to
    assert given.arguments == (Argument("pin", "theirs"),)


@pytest.mark.req("N7", "Z5")
async def test_neither_form_nor_configuration_nor_place_tells_which_message_it_is(house: House) -> None:
    """The provider gets one message openly, one as a hidden party, and one openly again, within a second."""
    await house.confirmed()
    house.second = await house.change(house.second, accepts=Accepts.ANYONE)
    frozen = house.network.clock.now_us() // 1_000_000 * 1_000_000 + 2_000_000
    times = iter(range(frozen, frozen + 900_000, 1_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.network.clock, "now_us", lambda: next(times), raising=False)
        for to in ("Second/In", "Enterprise/Account", "Second/In"):
            await house.post(house.first, to, kind=MessageType.NOTIFICATION)
    rows = (await browse(house.network, house.second, MessageSearch(box="received"))).rows
    shown = [summary("received", row, house.network.directory) for row in rows]
    assert [one["from"] for one in shown] == ["First/Out", "First/Out", "Enterprise/Account"]
    found = await load_history(house.network, house.second, shown[-1]["session"])
    assert [(one.form, one.directory, one.wire_size, one.came) for one in found.messages] == [("", 0, 0, None)]
    openly = await load_history(house.network, house.second, shown[0]["session"])
    assert openly.messages[0].form == "python"
