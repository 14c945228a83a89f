"""What hostile requests of one organization do to the posts of another, and to ``/livez``.

    python -m benchmarks.neighbours [--seconds 5] [--only NAME ...]

A real server; one organization posts 50 small messages a second, whatever becomes of those before. Meanwhile a stranger who has
registered attacks from another process, with one kind of request after the other. What counts is how long a post of the first
organization takes, and how long ``/livez`` takes, asked 20 times a second. The exit code is 1 when the p99 of posts is not below
100 ms, or that of ``/livez`` not below 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.comparing import work_folder
from benchmarks.network import NetworkServer
from benchmarks.payload import RECEIVER
from benchmarks.processes import stop
from benchmarks.report import ROOT
from postroad.core.codecs.soap.names import NAMESPACE, SOAP_11

RATE, LIVEZ_RATE = 50.0, 20.0
POST_P99_MS, LIVEZ_P99_MS = 100.0, 50.0
WAIT_S = 60.0
SERVICES, CONDITIONS = 20, 49
ACCOUNT = {"email": "owner@evil.example", "password": "a long sentence about the sea"}


class Target(NamedTuple):
    """The network under attack, and the attacker's keys."""

    port: int
    owner: str
    service: str


class Ask(NamedTuple):
    """A request, ready to be sent again and again."""

    connections: int
    method: str
    path: str
    body: bytes
    by_owner: bool = True
    kind: str = "application/json"
    is_read: bool = True


def deep() -> str:
    return "<a>" * 245 + "<b/>" * 9_900 + "</a>" * 245


def patterns(number: int) -> list[dict[str, Any]]:
    return [{"matches": {"body": "/a", "value": rf"(?i)[\p{{L}}]{{0,900}}x{n}"}} for n in range(number)]


def soap(document: str) -> bytes:
    return (
        f'<s:Envelope xmlns:s="{SOAP_11}" xmlns:p="{NAMESPACE}"><s:Body><p:Post><p:Header><p:To>'
        '<p:Service name="Evil/Post"/></p:To></p:Header><p:Document id="1" contentType="application/xml">'
        f"<p:Xml>{document}</p:Xml></p:Document></p:Post></s:Body></s:Envelope>"
    ).encode()


def attacks() -> dict[str, Ask]:
    to = [f"Evil/S{number}" for number in range(SERVICES)]
    ruled = {"to": to, "documents": [{"text": deep(), "contentType": "application/xml"}]}
    endless = (
        '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">'
        '<xsl:call-template name="on"><xsl:with-param name="n" select="1"/></xsl:call-template></xsl:template>'
        '<xsl:template name="on"><xsl:param name="n"/><xsl:if test="$n gt 0"><xsl:call-template name="on">'
        '<xsl:with-param name="n" select="$n + 1"/></xsl:call-template></xsl:if></xsl:template></xsl:stylesheet>'
    )
    rules = {f"r{n}": {"when": one, "then": [{"stopRuleEvaluation": True}]} for n, one in enumerate(patterns(150))}
    services: dict[str, Any] = {f"P{number}": {"description": "x"} for number in range(3_000)}
    namespaces = "<r>" + "".join(f'<a xmlns="urn:n{n}"/>' for n in range(100_000)) + "</r>"
    documents = b'{"to":["Evil/Post"],"documents":[' + b",".join([b"{}"] * 1_000_000) + b"]}"

    def plan(of: dict[str, Any]) -> bytes:
        return written({"document": {"postroad": 1, "organizations": {"Evil": {"services": of}}}})

    def tried(**what: Any) -> bytes:
        return written({"service": "Evil/S0", "document": deep(), **what})

    paths = [{"exists": {"body": f"//b//t{n}"}} for n in range(CONDITIONS)]
    return {
        "rules: post of 40 KiB to 20 services": Ask(4, "POST", "/v1/messages", written(ruled), by_owner=False),
        "rules: the same, explained": Ask(2, "POST", "/v1/explain", written(ruled), by_owner=False),
        "rules: condition on the test page": Ask(4, "POST", "/v1/try", tried(condition={"or": paths})),
        "patterns: 190 on the test page": Ask(4, "POST", "/v1/try", tried(condition={"or": patterns(190)})),
        "patterns: plan with 150": Ask(4, "POST", "/v1/configuration/plan", plan({"S0": {"rules": rules}})),
        "trials: 16 endless stylesheets": Ask(16, "POST", "/v1/try", written({"stylesheet": endless, "document": "<a/>"})),
        "SOAP with 100,000 namespaces": Ask(4, "POST", "/soap", soap(namespaces), by_owner=False, kind="text/xml"),
        "JSON with a million documents": Ask(4, "POST", "/v1/messages", documents, by_owner=False),
        "plan of 3,000 services": Ask(2, "POST", "/v1/configuration/plan", plan(services)),
        "export": Ask(4, "GET", "/v1/configuration", b""),
        "100 clients that ask for exports and do not read": Ask(100, "GET", "/v1/configuration", b"", is_read=False),
    }  # fmt: skip


def written(value: object) -> bytes:
    return json.dumps(value).encode()


# --- requests ---------------------------------------------------------------------------------------------------------


async def ask(
    port: int, method: str, path: str, key: str = "", body: bytes = b"", kind: str = "application/json"
) -> tuple[int, bytes]:
    """Status and body of an answer, over a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    try:
        proof = f"authorization: Bearer {key}\r\n" if key else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{proof}content-type: {kind}\r\nconnection: close\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.read(-1)
        start, _, content = answer.partition(b"\r\n\r\n")
        return int(start.split()[1]), content
    finally:
        writer.close()


async def register(port: int) -> Target:
    """A stranger registers, and makes services with rules that search documents."""

    async def asked(method: str, path: str, content: object, key: str = "") -> Any:
        status, body = await ask(port, method, path, key, written(content))
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {body[:300]!r}")
        return json.loads(body)

    await asked("POST", "/v1/register", {"organization": "Evil", "name": "E", **ACCOUNT})
    owner = (await asked("POST", "/v1/login", ACCOUNT))["key"]
    for name in ("Post", *[f"S{number}" for number in range(SERVICES)]):
        await asked("POST", "/v1/services", {"organization": "Evil", "name": name}, owner)
    for number in range(SERVICES):
        paths = [{"exists": {"body": f"//b//c{number}x{n}"}} for n in range(CONDITIONS)]
        rule = {"name": "r", "role": "recipient", "when": {"or": paths}, "then": [{"stopRuleEvaluation": True}]}
        await asked("POST", f"/v1/services/Evil%2FS{number}/rules", rule, owner)
    made = await asked("POST", "/v1/services/Evil%2FPost/credentials", {"kind": "key", "label": "a"}, owner)
    return Target(port, owner, made["key"])


async def attack(target: Target, wish: Ask) -> None:
    """Send the request over all connections again and again, until the process is ended."""
    key = target.owner if wish.by_owner else target.service

    async def again() -> None:
        while True:
            try:
                await ask(target.port, wish.method, wish.path, key, wish.body, wish.kind)
            except (OSError, IndexError, ValueError):
                await asyncio.sleep(0.1)

    async def without_reading() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", target.port, limit=1 << 10)
        writer.write(f"GET {wish.path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n".encode() * 20)
        await asyncio.Event().wait()

    await asyncio.gather(*[(again if wish.is_read else without_reading)() for _ in range(wish.connections)])


# --- the neighbour ----------------------------------------------------------------------------------------------------


async def at_rate(rate: float, seconds: float, once: Callable[[], Awaitable[object]]) -> list[float]:
    """How long each took, in milliseconds; one is begun when its time has come, whatever became of the others."""
    took: list[float] = []

    async def timed(due: float) -> None:
        try:
            async with asyncio.timeout(WAIT_S):
                await once()
        except (TimeoutError, OSError):
            pass
        took.append((time.perf_counter() - due) * 1_000)

    began, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(timed(due)))
    await asyncio.gather(*tasks)
    return sorted(took)


class Figures(NamedTuple):
    posts: list[float]
    livez: list[float]

    @property
    def holds(self) -> bool:
        return p(self.posts, 99) < POST_P99_MS and p(self.livez, 99) < LIVEZ_P99_MS

    def row(self) -> str:
        return "".join(f"{value:10.1f}" for times in self for value in (p(times, 50), p(times, 99), times[-1]))


def p(ordered: Sequence[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


async def measured(server: NetworkServer, seconds: float) -> Figures:
    body = written({"to": [RECEIVER], "documents": [{"text": "hello"}]})

    async def post() -> None:
        status, answer = await ask(server.port, "POST", "/v1/messages", server.sender_key, body)
        if status != 202:
            raise RuntimeError(f"a post was answered {status}: {answer[:200]!r}")

    async def livez() -> None:
        await ask(server.port, "GET", "/livez")

    return Figures(*await asyncio.gather(at_rate(RATE, seconds, post), at_rate(LIVEZ_RATE, seconds, livez)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--attack", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.attack:
        name, port, owner, service = json.loads(given.attack)
        asyncio.run(attack(Target(port, owner, service), attacks()[name]))
        return 0
    chosen = [name for name in attacks() if not given.only or any(part in name for part in given.only)]
    missed = []
    print(f"{'ms':50}{'posts p50':>10}{'p99':>10}{'max':>10}{'livez p50':>10}{'p99':>10}{'max':>10}   load")
    for name in ["undisturbed", *chosen]:
        with work_folder() as folder, NetworkServer(folder / "network") as server:
            figures = asyncio.run(_round(server, name, given.seconds))
        print(f"{name:50}{figures.row()}   {os.getloadavg()[0]:.1f}", flush=True)
        missed += [] if figures.holds else [name]
    if missed:
        print(f"Missed: {', '.join(missed)}")
    return 1 if missed else 0


async def _round(server: NetworkServer, name: str, seconds: float) -> Figures:
    target = await register(server.port)
    if name == "undisturbed":
        return await measured(server, seconds)
    command = [sys.executable, "-m", "benchmarks.neighbours", "--attack", json.dumps([name, *target])]
    process = await asyncio.to_thread(subprocess.Popen, command, cwd=ROOT, start_new_session=True)
    try:
        await asyncio.sleep(2.0)  # it has begun by then
        return await measured(server, seconds)
    finally:
        stop(process)


if __name__ == "__main__":
    sys.exit(main())
