"""The W3C trace context of a message from its poster to its receivers: in every format, and hidden where the sender is."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import msgspec
import pytest

from postroad.api.external_messages import write_messages, write_next, write_polled
from postroad.api.http.head import HeadMemory
from postroad.api.http.limits import HttpLimits
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.mediation.model import Wire
from postroad.core.model.directory import Push, PushAuthentication
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.polling import PollRequest
from postroad.core.telemetry.trace_context import STATE_FROM, pack_context
from postroad.flow.push.request import build_push_request
from postroad.flow.stages.mediate import HandedDelivery
from postroad.testing import Scenario, make_part
from postroad.testing.push_receivers import MemorySecrets
from tests.samples.account_scenario import ACCOUNT, FIRST, SECOND, AccountScenario
from tests.samples.as2_scenario import ORDERS, As2Scenario, sent_by_acme
from tests.samples.mediated import (
    FORMATS,
    GENEROUS,
    JSON,
    OWN,
    Mediated,
    network,
    polling,
    posted,
    pushed_to,
    receiving,
)

__all__ = ["network", "receiving"]  # the fixtures

TRACE, SPAN, STATE = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "rojo=00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"
OTHER = f"00-{'a' * 32}-{'b' * 16}-01"


def context_in(wire: Wire, format: Format) -> tuple[str, str]:
    """The context that a receiver finds in a message."""
    if format in OWN:
        [delivered] = OWN[format].decode_delivered(wire.body, GENEROUS)
        return delivered.traceparent, delivered.tracestate
    if format is Format.CLOUDEVENTS:
        event = msgspec.json.decode(wire.body)
        assert event["traceparent"] == wire.header("traceparent")
        return event["traceparent"], event["tracestate"]
    return wire.header("traceparent"), wire.header("tracestate")


@pytest.mark.req("O4")
@pytest.mark.parametrize("format", FORMATS, ids=str)
async def test_a_context_posted_in_any_format_reaches_polls_and_pushes_in_every_format(
    network: Mediated, format: Format
) -> None:
    parts = (make_part(b"<order/>", content_type="application/xml", id="1"),)
    to = [address(one) for address in (polling, pushed_to) for one in FORMATS]
    wire = posted(format, parts, to, traceparent=GOOD, tracestate=STATE)
    answer = await network.post(polling(format), wire)
    assert answer.status < 300, answer.body
    for one in FORMATS:
        [polled] = await network.polled(polling(one), one)
        [pushed] = await network.pushed(pushed_to(one), 1)
        assert context_in(polled, one) == (GOOD, STATE), one
        assert context_in(pushed, one) == (GOOD, STATE), one
        assert pushed.header("traceparent") == GOOD, one


async def contexts_after(network: Mediated, wire: Wire, path: str = "/v1/messages") -> list[str]:
    answer = await network.ask(polling(Format.JSON), "POST", path, wire.body, wire.headers)
    assert answer.status < 300, answer.body
    return [context_in(one, Format.JSON)[0] for one in await network.polled(polling(Format.JSON), Format.JSON)]


BODY = b'{"to":["Polling/json"],"documents":[{"text":"x"}]}'
OWN_FIELD = b'{"to":["Polling/json"],"documents":[{"text":"x"}],"traceparent":"%b"}'


@pytest.mark.req("O4")
async def test_the_message_wins_over_its_call_and_a_bad_context_is_ignored(network: Mediated) -> None:
    header = ("Traceparent", OTHER)
    good = OWN_FIELD % GOOD.encode()
    for body, headers, expected in (
        (BODY, [header], OTHER),
        (good, [header], GOOD),
        (good, [], GOOD),
        (OWN_FIELD % b"00-nonsense", [header], OTHER),
        (OWN_FIELD % b"00-nonsense", [], ""),
        (BODY, [("traceparent", GOOD.upper())], ""),
        (BODY, [header, ("traceparent", GOOD)], ""),  # two: neither counts
        (BODY, [header, ("TRACEPARENT", GOOD)], ""),
        (BODY, [], ""),
    ):
        assert await contexts_after(network, Wire([*JSON, *headers], body)) == [expected], (body, headers)


@pytest.mark.req("O4")
async def test_each_message_of_a_bulk_has_its_own_or_that_of_the_call(network: Mediated) -> None:
    lines = BODY + b"\n" + OWN_FIELD % GOOD.encode()
    bulk = Wire([("content-type", "application/x-ndjson"), ("traceparent", OTHER)], lines)
    assert await contexts_after(network, bulk, "/v1/messages/bulk") == [OTHER, GOOD]
    part = b"--x\r\nContent-Type: text/plain\r\nPostroad-To: Polling/json\r\n%b\r\ndocument\r\n"
    parts = part % (b"Traceparent: %b\r\n" % GOOD.encode()) + part % b"" + b"--x--\r\n"
    bulk = Wire([("content-type", "multipart/mixed; boundary=x"), ("traceparent", OTHER)], parts)
    assert await contexts_after(network, bulk, "/v1/messages/bulk") == [GOOD, OTHER]


async def test_a_bulk_that_is_repeated_in_another_trace_is_answered_as_before(network: Mediated) -> None:
    answers = []
    for own, call in ((GOOD, GOOD), (OTHER, OTHER)):
        headers = [("content-type", "application/x-ndjson"), ("idempotency-key", "k"), ("traceparent", call)]
        lines = BODY + b"\n" + OWN_FIELD % own.encode()
        answers.append(await network.ask(polling(Format.JSON), "POST", "/v1/messages/bulk", lines, headers))
    first, again = [msgspec.json.decode(b"[" + b",".join(one.body.split()) + b"]") for one in answers]
    assert [one["session"] for one in again] == [one["session"] for one in first]
    assert len(await network.polled(polling(Format.JSON), Format.JSON)) == 2


@pytest.fixture
async def scenario() -> AsyncIterator[AccountScenario]:
    async with AccountScenario() as scenario:
        await scenario.confirm()
        yield scenario


async def handed_to(scenario: Scenario, address: str) -> HandedDelivery:
    caller = scenario.caller(address)
    if caller.service is not None and caller.service.format in PLAIN:
        [handed] = await scenario.network.poll_in_format(caller, PollRequest(max=10))
        return handed
    return HandedDelivery(await scenario.receive(address))


def everything_written(handed: HandedDelivery, scenario: Scenario, address: str) -> bytes:
    """All that a receiver may get: single, listed and pushed."""
    codec = OWN.get(Format(scenario.profile(address).format), JSON_FORM)
    answers = [write_next([handed], codec), write_polled([handed], codec), write_messages([handed], codec)]
    texts = [part for one in answers for part in (one.body, *[b"%b: %b" % pair for pair in one.headers])]
    push = Push(url="https://second.example/", authentication=PushAuthentication.NONE)
    request = build_push_request(scenario.profile(address), push, handed, MemorySecrets(), 0, 1.0)
    return b"\n".join([*texts, request.body, str(request.headers).encode()])


@pytest.mark.req("O4", "N7", "Z5")
@pytest.mark.parametrize("format", FORMATS, ids=str)
async def test_a_receiver_that_may_not_know_the_sender_gets_another_context(
    scenario: AccountScenario, format: Format
) -> None:
    await scenario.change(SECOND, format=format.value)
    await scenario.post(FIRST, ACCOUNT, "an order", traceparent=GOOD, tracestate=STATE)
    handed = await handed_to(scenario, SECOND)
    delivered = handed.delivered
    assert delivered.traceparent == f"00-{delivered.transaction}-{delivered.traceparent[36:52]}-01"
    assert delivered.tracestate == ""
    written = everything_written(handed, scenario, SECOND)
    assert delivered.traceparent.encode() in written
    for secret in (TRACE, SPAN, STATE):
        assert secret.encode() not in written, f"{secret} is in {written!r}"


@pytest.mark.req("O4", "N7")
async def test_the_way_back_hides_the_responder_as_well(scenario: AccountScenario) -> None:
    await scenario.request(FIRST, ACCOUNT)
    await scenario.respond(await scenario.receive(SECOND), "an answer", by=SECOND, traceparent=GOOD, tracestate=STATE)
    response = await scenario.receive(FIRST)
    assert response.traceparent.split("-")[1] == response.transaction
    assert TRACE not in msgspec.json.encode(response).decode()


@pytest.mark.req("O4", "R12")
async def test_an_isolated_service_on_the_way_gets_another_context_and_the_recipient_the_senders() -> None:
    async with Scenario() as scenario:
        for address in ("MyBiz/Buyer", "Transmatics/Front", "Transmatics/Worker", "Acme/Supply"):
            await scenario.service(address)
        await scenario.rule(
            "Transmatics/Front", {"addServiceBefore": "Transmatics/Worker", "isolate": True}, role="inTransit"
        )
        await scenario.post("MyBiz/Buyer", "Acme/Supply", "x", route=["Transmatics/Front"], traceparent=GOOD)
        seen: dict[str, Delivered] = {}
        for address in ("Transmatics/Worker", "Transmatics/Front", "Acme/Supply"):
            seen[address] = await scenario.receive(address)
            if address != "Acme/Supply":
                await scenario.respond(seen[address], traceparent=OTHER)
        assert TRACE not in seen["Transmatics/Worker"].traceparent
        assert seen["Transmatics/Worker"].traceparent.split("-")[1] == seen["Transmatics/Worker"].transaction
        assert seen["Transmatics/Front"].traceparent == GOOD
        assert seen["Acme/Supply"].traceparent == GOOD, "a service on the way does not replace the creation context"


@pytest.mark.req("O4")
async def test_a_response_has_the_responders_context() -> None:
    async with Scenario() as scenario:
        for address in ("MyBiz/Buyer", "Acme/Supply"):
            await scenario.service(address)
        await scenario.post("MyBiz/Buyer", "Acme/Supply", "x", type=MessageType.REQUEST, traceparent=GOOD)
        await scenario.respond(await scenario.receive("Acme/Supply"), "y", traceparent=OTHER)
        assert (await scenario.receive("MyBiz/Buyer")).traceparent == OTHER


@pytest.mark.req("O4", "T7")
async def test_as2_has_it_in_an_http_header_outside_the_signed_part() -> None:
    async with As2Scenario() as scenario:
        built = sent_by_acme()
        headers = [*[(name.lower(), value) for name, value in built.headers], ("traceparent", GOOD)]
        await scenario.take_wire(headers, built.body)
        assert (await scenario.receive(ORDERS)).traceparent == GOOD
        await scenario.send(traceparent=OTHER, tracestate=STATE)
        await scenario.posts.wait_for(1)
        [request] = scenario.posts.requests
        assert (request.headers["traceparent"], request.headers["tracestate"]) == (OTHER, STATE)
        assert b"traceparent" not in request.body.lower()


async def test_an_entry_stores_25_bytes_only_for_messages_that_have_a_context() -> None:
    async with Scenario() as scenario:
        for address in ("MyBiz/Buyer", "Acme/Supply"):
            await scenario.service(address)
        await scenario.post("MyBiz/Buyer", "Acme/Supply", "x")
        await scenario.post("MyBiz/Buyer", "Acme/Supply", "x", traceparent=GOOD)
        stored = [len(entry.trace) for entry in await scenario.entries(MessagePosted)]
        assert stored == [0, STATE_FROM]


HEAD = b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n%bAuthorization: Bearer x\r\n\r\n"


PLAIN_LINE = b"traceparent: %b\r\n"
KNOWN = ((b"",), (b"", *[PLAIN_LINE % OTHER.encode()] * 2))  # what a connection sent before, without and with a context


def test_a_head_that_differs_only_in_its_context_is_parsed_once() -> None:
    memory = HeadMemory(HttpLimits())
    first = memory.read(HEAD % b"")
    for name, state in ((b"traceparent", b""), (b"Traceparent", b"Tracestate: a=1\r\n")):
        for context in (GOOD, OTHER):
            head = memory.read(HEAD % (b"%b: %b\r\n%b" % (name, context.encode(), state)))
            assert head.memo is first.memo
            assert head.trace == pack_context(context, "a=1" if state else "")
            assert (b"traceparent", context.encode()) in head.headers
            assert head.content_length == 3
    assert memory.read(HEAD % b"") is first
    assert (first.trace, len(first.headers)) == (b"", 3)


@pytest.mark.parametrize(
    "lines",
    [
        b"traceparent: %b\r\ntraceparent: %b\r\n" % (GOOD.encode(), GOOD.encode()),
        b"traceparent: %b\r\nTraceParent: %b\r\n" % (GOOD.encode(), GOOD.encode()),
        b"traceparent: \xff\r\n",
        b"X-Note: traceparent: %b\r\n" % GOOD.encode(),
        b"tracestate: a=1\r\n",
        PLAIN_LINE % (GOOD[:-2] + "ff").encode().upper(),
        PLAIN_LINE % (GOOD[:3] + "0" * 32 + GOOD[35:]).encode(),
        PLAIN_LINE % (GOOD[:36] + "0" * 16 + "-01").encode(),
        PLAIN_LINE % GOOD.replace("-", "a").encode(),
        PLAIN_LINE % (b"\xff" * 55),
    ],
)
@pytest.mark.parametrize("known", KNOWN)
def test_heads_with_other_lines_have_no_context(lines: bytes, known: tuple[bytes, ...]) -> None:
    memory = HeadMemory(HttpLimits())
    assert [memory.read(HEAD % one).trace[:1] for one in known] == [b"", b"\xaa", b"\xaa"][: len(known)]
    assert memory.read(HEAD % lines).trace == b""


def test_flags_that_are_not_known_are_cleared_in_every_head() -> None:
    memory = HeadMemory(HttpLimits())
    for flags, stored in (("01", 1), ("03", 3), ("00", 0), ("ff", 3), ("04", 0)):
        for _ in range(2):
            assert memory.read(HEAD % (PLAIN_LINE % (GOOD[:-2] + flags).encode())).trace[-1] == stored


@pytest.mark.parametrize(
    "lines",
    [
        b"traceparent: %b\r\n folded\r\n" % GOOD.encode(),
        b"traceparent: %b\r\n\tfolded\r\n" % GOOD.encode(),
        b"traceparent: %b\rContent-Length: 9\r\n" % GOOD.encode(),
        b"traceparent: %b\nContent-Length: 9\r\n" % GOOD.encode(),
        PLAIN_LINE % (GOOD[:35] + "\nContent-Length: 99").ljust(55).encode(),
        PLAIN_LINE % (GOOD[:35] + "\rContent-Length: 99").ljust(55).encode(),
    ],
)
@pytest.mark.parametrize("known", KNOWN)
def test_a_context_never_hides_a_line_from_the_parser(lines: bytes, known: tuple[bytes, ...]) -> None:
    """What the parser refuses or reads without the memory, it refuses or reads with it."""
    memory = HeadMemory(HttpLimits())
    for one in known:
        memory.read(HEAD % one)
    outcomes: list[object] = []
    for reader in (memory, HeadMemory(HttpLimits())):
        try:
            head = reader.read(HEAD % lines)
            outcomes.append((head.content_length, sorted(head.headers)))
        except Exception as error:  # compared below
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert re.search("malformed|not valid|not supported", str(outcomes[0])), outcomes
