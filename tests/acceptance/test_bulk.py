"""Many messages in one call, in each of its three forms: answered one by one, limited, and slowed down rather than piled up."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from postroad.core.codecs.bulk import decode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap import SOAP12
from postroad.core.model.message import Delivered, Message, Part, PostResult, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Refused
from postroad.testing.http_client import ClientConnection, ClientResponse
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import enroll, serving
from tests.samples.server_load import RECEIVER, SENDER

NDJSON = "application/x-ndjson"
MIXED = "multipart/mixed; boundary=many"
BROKEN = Path(__file__).parents[1] / "faults" / "broken_server.py"
BULK_BYTES, MESSAGE_BYTES = 4 << 20, 1 << 20
GENEROUS = WireLimits(body_bytes=1 << 30)
Served = tuple[ServerProcess, dict[str, str]]
Encoded = Callable[[list[Message]], bytes]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    sizes = {"bulk_bytes": BULK_BYTES, "message_bytes": MESSAGE_BYTES}
    with serving(tmp_path_factory.mktemp("bulk") / "data", SENDER, RECEIVER, settings=sizes) as running:
        yield running


def message(handle: str, to: str = RECEIVER, data: bytes = b"\x00any bytes\xff") -> Message:
    part = Part(id="d1", content_type="application/octet-stream", data=data)
    return Message(to=(Recipient(to),), handle=handle, possible_duplicate=True, parts=(part,))


def as_lines(messages: list[Message]) -> bytes:
    return b"".join(JSON_FORM.encode_post(one) + b"\n" for one in messages)


def as_parts(messages: list[Message]) -> bytes:
    """Every second one as SOAP, since the parts of one body may differ in form."""
    parts = []
    for number, one in enumerate(messages):
        codec = SOAP12 if number % 2 else JSON_FORM
        head = b"--many\r\nContent-Type: " + codec.media_type.encode() + b"\r\n\r\n"
        parts.append(head + codec.encode_post(one) + b"\r\n")
    return b"".join(parts) + b"--many--\r\n"


FORMS = pytest.mark.parametrize(
    ("content_type", "encoded"),
    [
        pytest.param(NDJSON, as_lines, id="ndjson"),
        pytest.param(MIXED, as_parts, id="multipart"),
        pytest.param(ENVELOPES, ENVELOPE_FORM.encode_posts, id="envelopes"),
    ],
)


async def send(served: Served, body: bytes, content_type: str) -> ClientResponse:
    server, keys = served
    async with ClientConnection(server.port, keys[SENDER]) as posting:
        return await posting.post("/v1/messages/bulk", body, content_type)


async def delivered(served: Served) -> list[Delivered]:
    """Everything that waits, acknowledged."""
    server, keys = served
    found: list[Delivered] = []
    async with ClientConnection(server.port, keys[RECEIVER]) as receiving:
        while True:
            answer = await receiving.post("/v1/poll", JSON_FORM.encode_poll(PollRequest(max=1000)))
            messages = JSON_FORM.decode_delivered(answer.body, GENEROUS)
            if not messages:
                return found
            settlement = Settlement(tokens=tuple(one.token for one in messages))
            assert (await receiving.post("/v1/ack", JSON_FORM.encode_settlement(settlement))).status == 200
            found += messages


def results(answer: ClientResponse) -> list[PostResult | Refused]:
    assert answer.status == 200, answer.body
    return decode_bulk_answer(answer.headers["content-type"], answer.body)


@pytest.mark.req("D1", "M4", "D6")
@FORMS
async def test_each_message_is_answered_in_order_and_delivered(
    served: Served, content_type: str, encoded: Encoded
) -> None:
    handles = [f"{content_type}-{number}" for number in range(250)]
    bodies = {handle: os.urandom(50) for handle in handles}
    answers = results(await send(served, encoded([message(h, data=bodies[h]) for h in handles]), content_type))
    found = await delivered(served)
    assert [one.handle for one in found] == handles
    assert [answer.session for answer in answers if isinstance(answer, PostResult)] == [one.session for one in found]
    assert {one.handle: one.parts[0].data for one in found} == bodies


@pytest.mark.req("D1", "M5", "M6")
@FORMS
async def test_a_bad_message_spoils_no_other(served: Served, content_type: str, encoded: Encoded) -> None:
    good, unknown, twice = (message(f"{content_type}-{name}") for name in ("good", "unknown", "twice"))
    unknown = msgspec.structs.replace(unknown, to=(Recipient("Nobody/Here"),))
    late = msgspec.structs.replace(message("late"), expires_at_us=1)
    large = message("large", data=bytes(MESSAGE_BYTES + 1))
    answers = results(await send(served, encoded([good, unknown, twice, twice, late, large]), content_type))
    assert [answer.code if isinstance(answer, Refused) else "" for answer in answers] == [
        *("", "recipient.unknown", "", "message.duplicate", "message.expired", "wire.too-large"),
    ]
    [first, second] = [answers[2], answers[3]]
    assert isinstance(first, PostResult)
    assert isinstance(second, Refused)
    assert second.session == first.session
    assert [one.handle for one in await delivered(served)] == [good.handle, twice.handle]


@pytest.mark.req("D1", "M5")
async def test_a_line_that_is_no_json_is_refused_alone(served: Served) -> None:
    body = as_lines([message("before")]) + b"{not json\n" + as_lines([message("after")])
    [before, broken, after] = results(await send(served, body, NDJSON))
    assert isinstance(before, PostResult)
    assert isinstance(after, PostResult)
    assert isinstance(broken, Refused)
    assert broken.code == "wire.malformed"
    assert [one.handle for one in await delivered(served)] == ["before", "after"]


@pytest.mark.req("M5")
async def test_too_much_in_one_call_is_refused_as_a_whole(served: Served) -> None:
    too_many = await send(served, b"{}\n" * 10_001, NDJSON)
    assert (too_many.status, json.loads(too_many.body)["code"]) == (413, "wire.too-complex")
    too_large = await send(served, b"x" * (BULK_BYTES + 1), NDJSON)
    assert (too_large.status, json.loads(too_large.body)["code"]) == (413, "wire.too-large")
    no_bulk = await send(served, b"{}", "application/json")
    assert (no_bulk.status, json.loads(no_bulk.body)["code"]) == (415, "wire.unsupported")
    cut_off = await send(served, as_parts([message("cut")])[:-10], MIXED)
    assert (cut_off.status, json.loads(cut_off.body)["code"]) == (400, "wire.malformed")
    assert await delivered(served) == []


async def test_the_limit_for_messages_is_not_one_for_documents_of_the_configuration(served: Served) -> None:
    server, keys = served
    document = json.dumps({"document": {"postroad": 1}, "padding": "x" * 2 * MESSAGE_BYTES}).encode()
    async with ClientConnection(server.port, keys[SENDER]) as asking:
        answer = await asking.post("/v1/configuration/plan", document)
    assert (answer.status, json.loads(answer.body)["errors"][0]["pointer"]) == (422, "/padding")


@pytest.mark.req("D1")
async def test_a_slow_disk_pushes_back_instead_of_filling_the_memory(tmp_path: Path) -> None:
    """More is sent than may wait: some is refused as busy, all is answered, and what was accepted is delivered.

    The disk is held until a call is answered: only a refusal needs no disk.
    """
    server = ServerProcess(tmp_path / "data", command=(sys.executable, str(BROKEN), "held-disk", "serve"))
    keys = await enroll(server, SENDER, RECEIVER)
    with server:
        idle_bytes = resident_bytes(server.pid)
        bodies = [[message(f"{client}-{n}", data=os.urandom(100_000)) for n in range(100)] for client in range(14)]
        (tmp_path / "hold-disk").touch()
        calls = [
            asyncio.create_task(send((server, keys), ENVELOPE_FORM.encode_posts(bulk), ENVELOPES)) for bulk in bodies
        ]
        most_bytes = 0
        while not all(call.done() for call in calls):
            most_bytes = max(most_bytes, resident_bytes(server.pid) - idle_bytes)
            if any(call.done() for call in calls):
                (tmp_path / "hold-disk").unlink(missing_ok=True)
            await asyncio.sleep(0.02)  # sleeps: between two looks at the memory
        answers = [answer for call in calls for answer in results(await call)]
        refused = {answer.code for answer in answers if isinstance(answer, Refused)}
        accepted = {answer.session for answer in answers if isinstance(answer, PostResult)}
        assert len(answers) == 1_400
        assert refused == {"network.busy"}
        assert most_bytes < 600 << 20
        assert {one.session for one in await delivered((server, keys))} == accepted


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
