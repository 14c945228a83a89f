"""Hostile requests of one organization do not stop the event loop that serves all others.

What counts is the processor time of a single turn of the event loop, which holds on a busy machine too. Before, these
requests took the event loop between one second and a minute.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import pytest

from postroad.adapters.large_bodies.workers import ReadingWorkers
from postroad.api.application import build_application
from postroad.api.error_responses import front_refusal
from postroad.api.http import HttpLimits, HttpServer
from postroad.api.messages import MessageEndpoints
from postroad.api.serve import COLLECTED
from postroad.bootstrap.settings import Settings
from postroad.core.codecs.soap.names import NAMESPACE, SOAP_11
from postroad.testing.network import MemoryNetwork, memory_network

MAX_TURN_S = 0.25  # of the processor, for one turn of the event loop
ATTEMPTS = 5
PATTERN = r"(?i)[\p{{L}}]{{0,900}}x{}"
SERVICES = 20


@dataclass(slots=True)
class Loop:
    """The longest turn of the event loop, in seconds of the processor, and what was called in it."""

    longest_s: float = 0.0
    called: list[str] = field(default_factory=list)


@contextmanager
def watched() -> Iterator[Loop]:
    """The turns of the event loop, with the garbage collector as a server sets it: other tests' objects are left alone."""
    seen, run, usual = Loop(), asyncio.Handle._run, gc.get_threshold()

    def timed(self: asyncio.Handle) -> None:
        began = time.thread_time()
        run(self)
        took = time.thread_time() - began
        if took > seen.longest_s:
            seen.longest_s = took
            seen.called.append(f"{took:.3f} s: {self!r}"[:200])

    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    asyncio.Handle._run = timed  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.set_threshold(*usual)
        gc.unfreeze()


async def least_disturbed(asked: Callable[[], Awaitable[Loop]], most_s: float) -> None:
    """Require that one of some attempts keeps to the limit: a busy machine makes turns longer, and never shorter."""
    for _ in range(ATTEMPTS):
        if (loop := await asked()).longest_s < most_s:
            return
    pytest.fail(f"a turn took {loop.longest_s:.3f} s of {most_s:.3f} s: {loop.called}")


class Attacker:
    def __init__(self, running: MemoryNetwork, port: int, keys: dict[str, str]) -> None:
        self.running, self._port, self._keys = running, port, keys

    async def ask(self, who: str, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> int:
        """The status of the answer."""
        return (await self._asked(who, method, path, body, kind))[0]

    async def told(self, who: str, method: str, path: str, content: object = b"") -> bytes:
        """The body of an answer that grants what is asked."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        status, answer = await self._asked(who, method, path, body, "application/json")
        assert status < 300, answer[:500]
        return answer

    async def _asked(self, who: str, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {self._keys[who]}\r\ncontent-type: {kind}\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode())
        for start in range(0, len(body), 1 << 16):
            writer.write(body[start : start + (1 << 16)])
            await writer.drain()
        status = int((await reader.readline()).split()[1])
        pieces = []
        while piece := await reader.read(1 << 16):
            pieces.append(piece)
        writer.close()
        return status, b"".join(pieces).partition(b"\r\n\r\n")[2]


POLL = (
    f'<s:Envelope xmlns:s="{SOAP_11}" xmlns:p="{NAMESPACE}"><s:Body><p:Poll><p:Max>1000</p:Max></p:Poll></s:Body></s:Envelope>'
).encode()


@asynccontextmanager
async def attacked() -> AsyncIterator[Attacker]:
    async with memory_network() as running:
        reader = ReadingWorkers(processes=1)
        endpoints = MessageEndpoints(
            running.network, running.authenticator, message_bytes=10 << 20, bulk_bytes=32 << 20, reader=reader
        )
        service = await running.register("Evil/Service")
        owner = await running.enroll("owner@evil.example", organization="Evil")
        keys = {"service": await running.key_for(service), "owner": await running.key_for(owner)}
        app = build_application(
            running.network, running.authenticator, running.passwords, Settings(), requests_per_s=0, reader=reader
        )
        server = HttpServer(app, endpoints.routes(), HttpLimits(), front_refusal)
        try:
            attacker = Attacker(running, await server.start("127.0.0.1", 0), keys)
            await attacker.ask("service", "POST", "/v1/messages", large(b"{}"))  # the reading process is started
            await attacker.ask("owner", "GET", "/v1/account")  # and what the first request loads is loaded
            yield attacker
        finally:
            await server.stop(1.0)
            await reader.close()


def large(document: bytes) -> bytes:
    return b'{"to":["Evil/Service"],"documents":[{"text":"%b"},%b]}' % (b"x" * 70_000, document)


def deep(leaves: int = 9_900) -> str:
    return "<a>" * 245 + "<b/>" * leaves + "</a>" * 245


def comparing(paths: list[str]) -> dict[str, object]:
    return {"or": [{"exists": {"body": path}} for path in paths]}


async def add_rules(attacker: Attacker, services: int) -> None:
    for number in range(services):
        await attacker.running.register(f"Evil/S{number}")
        paths = [f"//b//c{number}x{condition}" for condition in range(49)]
        rule = {"name": "r", "role": "recipient", "when": comparing(paths), "then": [{"stopRuleEvaluation": True}]}
        path = f"/v1/services/Evil%2FS{number}/rules"
        assert await attacker.ask("owner", "POST", path, json.dumps(rule).encode()) == 201


@pytest.mark.req("Z7")
async def test_rules_that_search_deep_documents_leave_the_event_loop() -> None:
    async with attacked() as attacker:
        await add_rules(attacker, SERVICES)
        to = [f"Evil/S{number}" for number in range(SERVICES)]
        document = {"text": deep(), "contentType": "application/xml"}
        post = json.dumps({"to": to, "documents": [document]}).encode()
        wish = {"service": "Evil/S0", "condition": comparing(["//b//c", "//b//d/text()"]), "document": deep()}
        with watched() as loop:
            assert await attacker.ask("service", "POST", "/v1/messages", post) == 202
            assert await attacker.ask("owner", "POST", "/v1/try", json.dumps(wish).encode()) == 200
            assert await attacker.ask("service", "POST", "/v1/explain", post) == 200
        assert loop.longest_s < MAX_TURN_S, loop.called


@pytest.mark.req("Z7")
async def test_patterns_are_compiled_away_from_the_event_loop() -> None:
    async with attacked() as attacker:
        await attacker.running.register("Evil/S0")
        patterns = [{"matches": {"body": "/a", "value": PATTERN.format(number)}} for number in range(190)]
        wish = {"service": "Evil/S0", "condition": {"or": patterns}, "document": "<a/>"}
        rules = {
            f"r{number}": {"when": one, "then": [{"stopRuleEvaluation": True}]} for number, one in enumerate(patterns)
        }
        document = {"postroad": 1, "organizations": {"Evil": {"services": {"S0": {"rules": rules}}}}}
        with watched() as loop:
            assert await attacker.ask("owner", "POST", "/v1/try", json.dumps(wish).encode()) == 422
            plan = json.dumps({"document": document}).encode()
            assert await attacker.ask("owner", "POST", "/v1/configuration/plan", plan) in (409, 422)
        assert loop.longest_s < MAX_TURN_S, loop.called


def soap(document: str) -> bytes:
    return (
        f'<s:Envelope xmlns:s="{SOAP_11}" xmlns:p="{NAMESPACE}"><s:Body><p:Post><p:Header><p:To>'
        '<p:Service name="Evil/Service"/></p:To></p:Header><p:Document id="1" contentType="application/xml">'
        f"<p:Xml>{document}</p:Xml></p:Document></p:Post></s:Body></s:Envelope>"
    ).encode()


@pytest.mark.req("Z7")
@pytest.mark.parametrize(
    ("body", "kind", "path"),
    [
        (soap("<r>" + "".join(f'<a xmlns="urn:n{n}"/>' for n in range(100_000)) + "</r>"), "text/xml", "/soap"),
        (b'{"to":["Evil/Service"],"documents":[' + b",".join([b"{}"] * 1_000_000) + b"]}", "application/json", "/v1/messages"),
        (large(b",".join([b"{}"] * 500_000)) + b"\n", "application/x-ndjson", "/v1/messages/bulk"),
    ],
    ids=["namespaces", "documents", "bulk"],
)  # fmt: skip
async def test_large_posts_are_read_by_other_processes(body: bytes, kind: str, path: str) -> None:
    async with attacked() as attacker:
        with watched() as loop:
            assert await attacker.ask("service", "POST", path, body, kind) == (413 if path == "/v1/messages" else 200)
        assert loop.longest_s < MAX_TURN_S, loop.called


def crowded_poll(namespaces: int) -> bytes:
    """A poll over SOAP with many blocks of others in its header."""
    blocks = "".join(f'<a xmlns="urn:n{n}"/>' for n in range(namespaces))
    return (
        f'<s:Envelope xmlns:s="{SOAP_11}" xmlns:p="{NAMESPACE}"><s:Header>{blocks}</s:Header>'
        "<s:Body><p:Poll><p:Max>1</p:Max></p:Poll></s:Body></s:Envelope>"
    ).encode()


def rule_in_xml(conditions: int) -> bytes:
    compared = '<exists><Header item="to"/></exists>' * conditions
    actions = "<Actions><StopRuleEvaluation/></Actions>"
    return f'<Rule xmlns="urn:postroad:rules:1" name="r"><Condition><OR>{compared}</OR></Condition>{actions}</Rule>'.encode()


@pytest.mark.req("Z7")
@pytest.mark.parametrize(
    ("who", "body", "kind", "path"),
    [
        ("service", crowded_poll(100_000), "text/xml", "/soap"),
        ("service", crowded_poll(30_000), "text/xml", "/v1/poll"),
        ("owner", rule_in_xml(25_000), "application/xml", "/v1/services/Evil%2FService/rules"),
    ],
    ids=["poll over SOAP", "poll", "rule in XML"],
)
async def test_large_polls_and_rules_are_decoded_away_from_the_event_loop(
    who: str, body: bytes, kind: str, path: str
) -> None:
    async with attacked() as attacker:

        async def asked() -> Loop:
            with watched() as loop:
                assert await attacker.ask(who, "POST", path, body, kind) in (200, 400, 413, 422)
            return loop

        await least_disturbed(asked, MAX_TURN_S / 5)


@pytest.mark.req("Z7")
@pytest.mark.parametrize("accept", ["application/json", "text/xml"])
async def test_answers_to_polls_of_many_messages_are_written_away_from_the_event_loop(accept: str) -> None:
    post = json.dumps({"to": ["Evil/Service"], "documents": [{"text": "<a>&amp;</a>" * 400}]}).encode() + b"\n"
    poll = {"application/json": b'{"max":1000}', "text/xml": POLL}[accept]
    async with attacked() as attacker:
        for _ in range(4):
            assert await attacker.ask("service", "POST", "/v1/messages/bulk", post * 250, "application/x-ndjson") == 200
        with watched() as loop:
            path = "/soap" if accept == "text/xml" else "/v1/poll"
            assert await attacker.ask("service", "POST", path, poll, accept) == 200
        assert loop.longest_s < MAX_TURN_S / 4, loop.called


@pytest.mark.req("Z7")
async def test_messages_with_thousands_of_recipients_are_routed_and_told_of_away_from_the_event_loop() -> None:
    services: dict[str, object] = {f"R{number}": {} for number in range(9_000)}
    document = {"postroad": 1, "organizations": {"Evil": {"services": services}}}
    post = json.dumps({"to": [f"Evil/{name}" for name in services], "documents": [{"text": "x"}]}).encode()
    async with attacked() as attacker:
        plan = json.loads(await attacker.told("owner", "POST", "/v1/configuration/plan", {"document": document}))
        wish = {"document": document, "version": plan["version"]}
        await attacker.told("owner", "POST", "/v1/configuration/apply", wish)
        rule = {"name": "r", "role": "sender", "when": "always", "then": [{"stopRuleEvaluation": True}]}
        await attacker.told("owner", "POST", "/v1/services/Evil%2FService/rules", rule)

        async def asked() -> Loop:
            with watched() as loop:
                session = json.loads(await attacker.told("service", "POST", "/v1/messages", post))["session"]
                await attacker.told("service", "POST", "/v1/explain", post)
                for view in ("", "/trace", "/explanation"):
                    await attacker.told("owner", "GET", f"/v1/messages/{session}{view}")
            return loop

        await least_disturbed(asked, MAX_TURN_S / 3)


EXPENSIVE = [{"matches": {"body": "/a", "value": "(?i)" + r"\PL|" * 16 + str(number)}} for number in range(190)]


@pytest.mark.req("Z7")
async def test_conditions_of_batchers_are_compiled_away_from_the_event_loop() -> None:
    batching = {"sendsTo": "Evil/Service", "standard": "x12", "count": 3, "takes": {"or": EXPENSIVE}}
    batcher = {"organization": "Evil", "name": "Batcher", "hosted": "batcher", "batching": batching}
    async with attacked() as attacker:
        with watched() as loop:
            assert await attacker.ask("owner", "POST", "/v1/services", json.dumps(batcher).encode()) == 201
            path = "/v1/services/Evil%2FBatcher"
            changed = {"name": "Batcher", "hosted": "batcher", "batching": {**batching, "last": {"or": EXPENSIVE}}}
            assert await attacker.ask("owner", "PUT", path, json.dumps(changed).encode()) in (200, 428)
        assert loop.longest_s < MAX_TURN_S, loop.called


@pytest.mark.req("Z7")
async def test_plans_and_exports_of_thousands_of_services_leave_the_event_loop() -> None:
    async with attacked() as attacker:
        services = {f"S{number}": {"description": "x"} for number in range(3_000)}
        document = {"postroad": 1, "organizations": {"Evil": {"services": services}}}
        plan = json.dumps({"document": document}).encode()
        flat = json.dumps({"document": {"organizations": [[]] * 2_000_000}}).encode()

        async def asked() -> Loop:
            with watched() as loop:
                assert await attacker.ask("owner", "POST", "/v1/configuration/plan", plan) == 200
                assert await attacker.ask("owner", "GET", "/v1/configuration") == 200
                assert await attacker.ask("owner", "POST", "/v1/configuration/plan", flat) == 413
            return loop

        await least_disturbed(asked, MAX_TURN_S / 8)
