"""What goes wrong between two that are kept from each other: errors, refusals, lists and ways back name neither to the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from postroad.api.resources.message_views import summary
from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Accepts, ConnectionPolicy, DocumentAccess, Transport
from postroad.core.model.message import Argument, Delivered, MessageType, Part, Recipient, Status
from postroad.errors import Refused
from postroad.flow.administration.dead_letters import resend
from postroad.flow.administration.messages.contents import list_parts_at_stop
from postroad.flow.administration.messages.explanations import explain_stored
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.flow.administration.try_out.rules import load_stored_message
from tests.samples.account_scenario import (
    ACCOUNT,
    ENTERPRISE,
    FIRST,
    ORDER,
    OTHER,
    SECOND,
    AccountScenario,
)


@pytest.fixture
async def scenario() -> AsyncIterator[AccountScenario]:
    async with AccountScenario() as scenario:
        yield scenario


async def asked(scenario: AccountScenario) -> Delivered:
    """A request of the first sender's at the provider."""
    await scenario.confirm()
    await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    return delivered


async def remove(scenario: AccountScenario, address: str) -> None:
    await scenario.remove(address, *scenario.network.directory.trust_of(scenario.gcid(address)))


async def with_stamp(scenario: AccountScenario, role: str) -> Caller:
    """A service of the provider's that its messages pass."""
    stamp = await scenario.service("Second/Stamp")
    side = "addServiceAfter" if role == "sender" else "addServiceBefore"
    await scenario.rule(SECOND, {side: "Second/Stamp"}, role=role)
    return stamp


@pytest.mark.req("N7", "Z5")
async def test_a_push_that_failed_does_not_tell_the_first_sender_where(scenario: AccountScenario) -> None:
    delivered = await asked(scenario)
    await scenario.fail(delivered, make_reason("push.nothing-listens", host="hooks.second.example"))
    [error] = await scenario.received(FIRST)
    assert error.status is not None
    assert error.status.code == "route.failed"
    scenario.assert_hides_provider(error)


@pytest.mark.req("N7", "Z5")
async def test_an_account_that_is_removed_meanwhile_still_stands_between_them(scenario: AccountScenario) -> None:
    delivered = await asked(scenario)
    await remove(scenario, ACCOUNT)
    result = await scenario.respond(delivered, ORDER)
    assert [one.service for one in result.recipients] == [scenario.gcid(ACCOUNT)]
    scenario.assert_hides_first_sender(
        result, await load_history(scenario.network, scenario.caller(SECOND), result.session)
    )
    [response] = await scenario.received(FIRST)
    scenario.assert_hides_provider(
        response, await load_history(scenario.network, scenario.caller(FIRST), response.session)
    )


@pytest.mark.req("N7", "Z5")
async def test_an_error_response_in_the_place_of_a_removed_account_does_not_come_from_the_provider(
    scenario: AccountScenario,
) -> None:
    delivered = await asked(scenario)
    await remove(scenario, ACCOUNT)
    await scenario.fail(delivered, make_reason("delivery.not-acknowledged", count=9))
    [error] = await scenario.received(FIRST)
    assert error.sender_gcid == scenario.gcid(ACCOUNT)
    scenario.assert_hides_provider(error)


@pytest.mark.req("N7", "Z5")
@pytest.mark.parametrize("status", [None, Status("broken", "no")])
async def test_a_second_answer_is_refused_without_the_session_that_others_know(
    scenario: AccountScenario, status: Status | None
) -> None:
    await scenario.confirm()
    await scenario.service("Third/End")
    await scenario.rule(FIRST, {"addServiceAfter": ACCOUNT}, role="sender")
    await scenario.request(FIRST, "Third/End")
    [passing] = await scenario.received(SECOND)
    await scenario.respond(passing, ORDER)
    with pytest.raises(Refused, match=r"reference\.answered") as refused:
        await scenario.respond(passing, ORDER, status=status)
    assert refused.value.session == passing.session


@pytest.mark.req("N7", "Z5")
async def test_lists_and_trials_show_the_first_sender_no_provider(scenario: AccountScenario) -> None:
    delivered = await asked(scenario)
    await scenario.respond(delivered, ORDER)
    [response] = await scenario.received(FIRST)
    scenario.assert_hides_provider(
        await load_stored_message(scenario.network, scenario.caller(FIRST), response.session)
    )
    for box in ("sent", "received"):
        [row] = (await browse(scenario.network, scenario.caller(FIRST), MessageSearch(box=box))).rows
        scenario.assert_hides_provider(summary(box, row, scenario.network.directory))
        [row] = (await browse(scenario.network, scenario.caller(SECOND), MessageSearch(box=box))).rows
        scenario.assert_hides_first_sender(summary(box, row, scenario.network.directory))
    await scenario.request(ENTERPRISE, ACCOUNT)
    [row] = (await browse(scenario.network, scenario.caller(ENTERPRISE), MessageSearch(box="sent"))).rows
    assert summary("sent", row, scenario.network.directory)["recipients"] == ["Second/In"], "the enterprise may know"


@pytest.mark.req("N7", "R13", "Z5")
async def test_a_response_hides_each_side_from_services_of_the_other(scenario: AccountScenario) -> None:
    stamp = await with_stamp(scenario, "sender")
    delivered = await asked(scenario)
    await scenario.respond(delivered, ORDER)
    [passing] = await scenario.received(stamp)
    scenario.assert_hides_first_sender(passing)
    assert passing.reference is not None
    assert (passing.transaction, passing.reference.session) == (delivered.transaction, delivered.session)
    assert passing.expires_at_us == delivered.expires_at_us
    result = await scenario.respond(passing, ORDER)
    scenario.assert_hides_first_sender(result)
    assert result.transaction == delivered.transaction
    [response] = await scenario.received(FIRST)
    assert response.trace == ()
    scenario.assert_hides_provider(response)


@pytest.mark.req("N7", "R15", "Z5")
@pytest.mark.parametrize("role", ["sender", "recipient"])
async def test_a_failure_on_the_provider_s_side_names_nobody(scenario: AccountScenario, role: str) -> None:
    stamp = await with_stamp(scenario, role)
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    if role == "sender":
        [delivered] = await scenario.received(SECOND)
        await scenario.respond(delivered, ORDER)
    [passing] = await scenario.received(stamp)
    await scenario.respond(passing, ORDER, status=Status("broken", "the stamp of Second is broken"))
    [error] = await scenario.received(FIRST)
    assert error.status is not None
    assert error.status.code == "route.failed"
    scenario.assert_hides_provider(error, await load_history(scenario.network, scenario.caller(FIRST), session))


@pytest.mark.req("N7", "N11", "Z5")
async def test_a_way_back_that_is_closed_on_the_provider_s_side_names_nobody(scenario: AccountScenario) -> None:
    await with_stamp(scenario, "sender")
    delivered = await asked(scenario)
    await scenario.change("Second/Stamp", suspended="unpaid")
    with pytest.raises(Refused, match="suspended") as refused:
        await scenario.respond(delivered, ORDER)
    scenario.assert_hides_first_sender(str(refused.value))
    [error] = await scenario.received(FIRST)
    scenario.assert_hides_provider(error)


@pytest.mark.req("N7", "R14", "Z5")
@pytest.mark.parametrize("fault", ["suspended", "gone", "logical only", "policy", "misplaced rule", "circle"])
async def test_a_refusal_does_not_name_the_provider_that_made_the_route_invalid(
    scenario: AccountScenario, fault: str
) -> None:
    await scenario.confirm()
    match fault:
        case "suspended":
            await scenario.change(SECOND, suspended="unpaid")
        case "gone":
            await scenario.remove(SECOND)
        case "logical only":
            await scenario.change(SECOND, logical_only=True)
        case "policy":
            await scenario.change(SECOND, policy=ConnectionPolicy(transport=Transport.TLS))
        case "misplaced rule":
            await scenario.rule(SECOND, {"addServiceAfter": "Second/Other"})
        case _:
            await scenario.rule(SECOND, {"redirect": ACCOUNT})
    with pytest.raises(Refused) as refused:
        await scenario.request(FIRST, ACCOUNT)
    scenario.assert_hides_provider(str(refused.value))
    caller = replace(scenario.caller(ENTERPRISE), secure=fault == "policy")
    with pytest.raises(Refused) as refused:
        await scenario.request(caller, ACCOUNT)
    assert fault in ("gone", "policy") or "second" in str(refused.value).casefold(), "its owner is told who it is"


@pytest.mark.req("N7", "D2", "Z5")
async def test_services_of_the_provider_cannot_select_by_the_first_senders_session(scenario: AccountScenario) -> None:
    stamp = await with_stamp(scenario, "sender")
    await scenario.confirm()
    session = await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    await scenario.respond(delivered, ORDER)
    assert await scenario.received(stamp, transaction=session) == []
    [found] = await scenario.received(stamp, transaction=delivered.transaction)
    assert found.transaction == delivered.transaction


@pytest.mark.req("N7", "R16", "Z5")
async def test_rules_of_the_provider_see_no_time_more_exact_than_a_second(scenario: AccountScenario) -> None:
    await scenario.confirm()
    since = {"greaterThan": {"header": "postedAt", "value": "2000-01-01T00:00:00Z", "as": "date"}}
    await scenario.rule(SECOND, {"stopRuleEvaluation": True}, when=since, role="recipient")
    await scenario.request(FIRST, ACCOUNT)
    [delivered] = await scenario.received(SECOND)
    [tried] = (await explain_stored(scenario.network, scenario.caller(SECOND), delivered.session)).services
    told = tried.rules[0].told
    assert told is not None
    assert told.held
    assert told.seen == (write_time(delivered.posted_at_us),)


@pytest.mark.req("D7", "N7", "N11", "Z5")
@pytest.mark.parametrize("fault", ["account", "enterprise", "revoked", "account gone", "sender", "provider"])
async def test_a_dead_letter_at_the_provider_is_resent_only_while_the_account_is_linked(
    scenario: AccountScenario, fault: str
) -> None:
    delivered = await asked(scenario)
    await scenario.fail(delivered, make_reason("push.nothing-listens", host="hooks.second.example"))
    people = [await scenario.person(f"p@{name}.example", name) for name in ("First", "Second")]
    [[first], [second]] = [await scenario.dead_letters(person) for person in people]
    scenario.assert_hides_provider(replace(first, number=0))
    scenario.assert_hides_first_sender(replace(second, number=0))
    match fault:
        case "enterprise":
            enterprise = scenario.network.directory.organization("Enterprise")
            assert enterprise is not None
            await scenario.save(replace(enterprise, suspended="unpaid"))
        case "revoked":
            await scenario.trust.revoke(scenario.gcid(SECOND), scenario.gcid(ACCOUNT), (scenario.gcid(SECOND),))
        case "account gone":
            await remove(scenario, ACCOUNT)
        case _:
            await scenario.change({"account": ACCOUNT, "sender": FIRST, "provider": SECOND}[fault], suspended="unpaid")
    hides = (scenario.assert_hides_provider, scenario.assert_hides_first_sender)
    for person, letter, assert_hides in zip(people, (first, second), hides, strict=True):
        with pytest.raises(Refused, match=r"suspended|recipient\.not-allowed") as refused:
            await resend(scenario.network, person, letter.id, "fixed")
        assert_hides(str(refused.value))


@pytest.mark.req("N7", "M7", "Z5")
async def test_the_number_behind_a_pseudonym_is_not_found_by_trying(scenario: AccountScenario) -> None:
    """A number tells which messages were posted together; after a restart no desk remembers which token it gave out."""
    delivered = await asked(scenario)
    tokens, network = scenario.network.tokens, scenario.network
    number, proof = tokens.number(delivered.token), delivered.token.partition(".")[2]
    assert number is not None
    found = await network.desk.find(number)
    assert found is not None
    found.queued.token = ""
    with pytest.raises(Refused, match=r"reference\.invalid"):
        await scenario.respond(replace_token(delivered, f"{number:x}.{proof}"), ORDER)
    with pytest.raises(Refused, match="not-found"):
        await list_parts_at_stop(network, scenario.caller(SECOND), delivered.session, number)
    assert await list_parts_at_stop(
        network, scenario.caller(SECOND), delivered.session, tokens.pseudonyms.number(number)
    )
    assert (await scenario.respond(delivered, ORDER)).session


def replace_token(delivered: Delivered, token: str) -> Delivered:
    return msgspec.structs.replace(delivered, token=token)


@pytest.mark.req("N7", "Z1", "Z5")
async def test_the_provider_is_not_found_by_excepting_it_from_a_policy(scenario: AccountScenario) -> None:
    await scenario.confirm()
    await scenario.change(ACCOUNT, policy=ConnectionPolicy(transport=Transport.TLS))
    told = set()
    for guess in ("Second", "Third"):
        policy = ConnectionPolicy(transport=Transport.TLS, except_for=(guess, "Enterprise"))
        sender = replace(await scenario.change(FIRST, policy=policy), secure=True)
        with pytest.raises(Refused, match=r"policy\.transport") as refused:
            await scenario.request(sender, ACCOUNT)
        told.add(str(refused.value))
    assert len(told) == 1


@pytest.mark.req("N7", "Z1", "Z5")
async def test_the_first_sender_is_not_found_by_excepting_it_from_a_policy(scenario: AccountScenario) -> None:
    delivered = await asked(scenario)
    told = set()
    for guess in ("First", "Third"):
        policy = ConnectionPolicy(transport=Transport.TLS, except_for=(guess,))
        second = replace(await scenario.change(SECOND, policy=policy), secure=True)
        for attempt in (scenario.respond(delivered, ORDER, by=second), scenario.request(FIRST, ACCOUNT)):
            with pytest.raises(Refused, match=r"policy\.transport") as refused:
                await attempt
            told.add(str(refused.value))
    assert len(told) == 2, "one refusal for each, whatever was guessed"


@pytest.mark.req("N7", "Z1")
async def test_the_enterprise_itself_may_be_excepted_by_its_provider(scenario: AccountScenario) -> None:
    policy = ConnectionPolicy(transport=Transport.TLS, except_for=("Enterprise",))
    await scenario.confirm()
    second = replace(await scenario.change(SECOND, policy=policy), secure=True)
    await scenario.request(ENTERPRISE, ACCOUNT)
    [delivered] = await scenario.received(second)
    await scenario.respond(delivered, ORDER, by=second)
    assert len(await scenario.received(ENTERPRISE)) == 1


@pytest.mark.req("N5", "N7")
async def test_what_is_withheld_from_an_account_on_the_way_is_withheld_from_its_provider(
    scenario: AccountScenario,
) -> None:
    await scenario.confirm()
    end = await scenario.service("Third/End")
    await scenario.rule(FIRST, {"addServiceAfter": ACCOUNT}, role="sender")
    withheld = (DocumentAccess(service="Enterprise", read=("open",), change=("open",)),)
    await scenario.change(FIRST, document_access=withheld)
    parts = tuple(Part(id=name, content_type="text/plain", data=b"x") for name in ("open", "secret"))
    await scenario.post(FIRST, "Third/End", parts=parts)
    [passing] = await scenario.received(SECOND)
    assert [part.id for part in passing.parts] == ["open"]
    number = scenario.network.tokens.pseudonyms.number(scenario.number(passing))
    assert [
        one.id for one in await list_parts_at_stop(scenario.network, scenario.caller(SECOND), passing.session, number)
    ] == ["open"]
    changed = (Part(id="open", content_type="text/plain", data=b"changed"),)
    await scenario.respond(passing, parts=changed)
    [arrived] = await scenario.received(end)
    assert {part.id: part.data for part in arrived.parts} == {"open": b"changed", "secret": b"x"}


@pytest.mark.req("N7", "R12", "Z5")
async def test_a_service_before_an_account_does_not_learn_of_the_provider(scenario: AccountScenario) -> None:
    await scenario.confirm()
    third = await scenario.service("Third/Stamp")
    to = Recipient(ACCOUNT, (Argument("pin", "1234"),))
    session = (await scenario.post(FIRST, to, route=["Third/Stamp"], type=MessageType.REQUEST)).session
    [passing] = await scenario.received(third)
    told = await load_history(scenario.network, third, session)
    assert [copy.recipient for copy in told.messages[0].copies] == [ACCOUNT]
    tried = await load_stored_message(scenario.network, third, session)
    assert tried.to == (Recipient(ACCOUNT),), "nor what only the recipient is told"
    scenario.assert_hides_provider(passing, told, tried, await explain_stored(scenario.network, third, session))
    await scenario.respond(passing, ORDER)
    scenario.assert_hides_provider(await load_history(scenario.network, third, session))
    known = await scenario.history(session, "Enterprise")
    assert known.messages[0].copies[0].recipient == "Second/In", "the enterprise may know"


@pytest.mark.req("N7", "R13", "Z5")
async def test_a_service_that_a_response_passes_does_not_learn_of_the_first_sender(
    scenario: AccountScenario,
) -> None:
    third = await scenario.service("Third/Stamp")
    await scenario.rule(SECOND, {"addServiceAfter": "Third/Stamp"}, role="sender")
    delivered = await asked(scenario)
    response = await scenario.respond(delivered, ORDER)
    [passing] = await scenario.received(third)
    told = await load_history(scenario.network, third, response.session)
    scenario.assert_hides_first_sender(passing, told, await explain_stored(scenario.network, third, response.session))
    assert (told.transaction, told.messages[0].answers) == (passing.transaction, delivered.session)
    assert [copy.recipient for copy in told.messages[0].copies] == [ACCOUNT]
    assert [stop.service for copy in told.messages[0].copies for stop in copy.stops] == ["Third/Stamp"]


@pytest.mark.req("R12", "Z5")
async def test_a_stored_message_shows_each_viewer_only_its_own_arguments(scenario: AccountScenario) -> None:
    await scenario.service("Third/End")
    action: dict[str, object] = {"redirect": "Second/Other", "isolate": True, "arguments": {"pin": "theirs"}}
    await scenario.rule("Third/End", action, role="recipient")
    to = (Recipient("Third/End", (Argument("pin", "ours"),)),)
    session = (await scenario.post(FIRST, to)).session
    assert (await load_stored_message(scenario.network, scenario.caller(FIRST), session)).to == to
    [delivered] = await scenario.received(OTHER)
    [given] = (await load_stored_message(scenario.network, scenario.caller(OTHER), delivered.session)).to
    assert given.arguments == (Argument("pin", "theirs"),)


@pytest.mark.req("N7", "Z5")
async def test_form_configuration_and_position_do_not_identify_a_hidden_message(scenario: AccountScenario) -> None:
    """The provider gets one message openly, one as a hidden party, and one openly again, within a second."""
    await scenario.confirm()
    await scenario.change(SECOND, accepts=Accepts.ANYONE)
    frozen = scenario.network.clock.now_us() // 1_000_000 * 1_000_000 + 2_000_000
    times = iter(range(frozen, frozen + 900_000, 1_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenario.network.clock, "now_us", lambda: next(times), raising=False)
        for to in ("Second/In", ACCOUNT, "Second/In"):
            await scenario.request(FIRST, to, type=MessageType.NOTIFICATION)
    rows = (await browse(scenario.network, scenario.caller(SECOND), MessageSearch(box="received"))).rows
    shown = [summary("received", row, scenario.network.directory) for row in rows]
    assert [one["from"] for one in shown] == ["First/Out", "First/Out", ACCOUNT]
    found = await load_history(scenario.network, scenario.caller(SECOND), shown[-1]["session"])
    assert [(one.form, one.directory, one.wire_size, one.came) for one in found.messages] == [("", 0, 0, None)]
    openly = await load_history(scenario.network, scenario.caller(SECOND), shown[0]["session"])
    assert openly.messages[0].form == "python"
