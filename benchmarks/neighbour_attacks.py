"""The attacks of ``benchmarks.neighbours``: what a stranger who has registered prepares, and then sends again and again."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from postroad.core.codecs.soap.names import NAMESPACE, SOAP_11

SERVICES, EXPLAINED, CONDITIONS = 20, 50, 49
POLLED = 1_000  # messages at a time
BIG = 3_000  # services of an organization whose plan or export is big
YAML_CHARS = 64 << 10
TOLD_EVERY_S = 0.5
XML = "application/xml"
FORM = "application/x-www-form-urlencoded"
ACCOUNT = {"email": "owner@evil.example", "password": "a long sentence about the sea"}
VIEWER = {"email": "viewer@evil.example", "password": "another sentence about the sea"}

By = Literal["owner", "viewer", "service", "receiver", "browser"]


class Target(NamedTuple):
    """The network under attack, and the attacker's keys."""

    port: int
    keys: dict[str, str]
    rule_check: str  # path of the console's form that checks rules
    cookie: str  # of the owner's browser
    csrf: str


class Ask(NamedTuple):
    """A request, ready to be sent again and again."""

    connections: int
    method: str
    path: str
    body: bytes
    by: By = "owner"
    kind: str = "application/json"
    is_read: bool = True


def deep(leaves: int = 9_900, text: str = "") -> str:
    leaf = f"<b>{text}</b>" if text else "<b/>"
    return "<a>" * 245 + leaf * leaves + "</a>" * 245


def patterns(number: int) -> list[dict[str, Any]]:
    return [{"matches": {"body": "/a", "value": rf"(?i)[\p{{L}}]{{0,900}}x{n}"}} for n in range(number)]


def soap(document: str) -> bytes:
    return (
        f'<s:Envelope xmlns:s="{SOAP_11}" xmlns:p="{NAMESPACE}"><s:Body><p:Post><p:Header><p:To>'
        '<p:Service name="Evil/Post"/></p:To></p:Header><p:Document id="1" contentType="application/xml">'
        f"<p:Xml>{document}</p:Xml></p:Document></p:Post></s:Body></s:Envelope>"
    ).encode()


def polled(blocks: str) -> bytes:
    return (
        f'<s:Envelope xmlns:s="{SOAP_11}" xmlns:p="{NAMESPACE}"><s:Header>{blocks}</s:Header>'
        "<s:Body><p:Poll><p:Max>1</p:Max></p:Poll></s:Body></s:Envelope>"
    ).encode()


def rule_in_xml() -> bytes:
    conditions = '<exists><Header item="to"/></exists>' * 25_000
    actions = "<Actions><StopRuleEvaluation/></Actions>"
    return f'<Rule xmlns="urn:postroad:rules:1" name="r"><Condition><OR>{conditions}</OR></Condition>{actions}</Rule>'.encode()


def attacks() -> dict[str, Ask]:
    explained = [f"Evil/S{number}" for number in range(EXPLAINED)]
    to = explained[:SERVICES]
    ruled = {"to": to, "documents": [{"text": deep(), "contentType": "application/xml"}]}
    endless = (
        '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">'
        '<xsl:call-template name="on"><xsl:with-param name="n" select="1"/></xsl:call-template></xsl:template>'
        '<xsl:template name="on"><xsl:param name="n"/><xsl:if test="$n gt 0"><xsl:call-template name="on">'
        '<xsl:with-param name="n" select="$n + 1"/></xsl:call-template></xsl:if></xsl:template></xsl:stylesheet>'
    )
    rules = {f"r{n}": {"when": one, "then": [{"stopRuleEvaluation": True}]} for n, one in enumerate(patterns(150))}
    services: dict[str, Any] = {f"P{number}": {"description": "x"} for number in range(BIG)}
    wide = {**ruled, "documents": [{"text": deep(9_900, "c" * 12), "contentType": "application/xml"}]}
    namespaces = "<r>" + "".join(f'<a xmlns="urn:namespace:{n:06}"/>' for n in range(100_000)) + "</r>"
    blocks = "".join(f'<a xmlns="urn:namespace:{n:06}"/>' for n in range(100_000))
    documents = b'{"to":["Evil/Post"],"documents":[' + b",".join([b"{}"] * 1_000_000) + b"]}"

    def plan(of: dict[str, Any]) -> bytes:
        return written({"document": {"postroad": 1, "organizations": {"Evil": {"services": of}}}})

    def tried(**what: Any) -> bytes:
        return written({"service": "Evil/S0", "document": deep(), **what})

    paths = [{"exists": {"body": f"//b//t{n}"}} for n in range(CONDITIONS)]
    texts = [{"equals": {"body": "//b//c/text()", "value": str(n)}} for n in range(CONDITIONS)]
    return {
        "rules: post of 40 KiB to 20 services": Ask(4, "POST", "/v1/messages", written(ruled), by="service"),
        "rules: post of 40 KiB to one service": Ask(4, "POST", "/v1/messages", written({**ruled, "to": to[:1]}), by="service"),
        "rules: explained to 50 services": Ask(2, "POST", "/v1/explain", written({**ruled, "to": explained}), by="service"),
        "rules: condition on the test page": Ask(4, "POST", "/v1/try", tried(condition={"or": paths})),
        "rules: 193 KiB to 20 services": Ask(4, "POST", "/v1/messages", written(wide), by="service"),
        "rules: texts on the test page": Ask(4, "POST", "/v1/try", tried(condition={"or": texts})),
        "patterns: 190 on the test page": Ask(4, "POST", "/v1/try", tried(condition={"or": patterns(190)})),
        "patterns: 100 of a viewer": Ask(4, "POST", "/v1/try", tried(condition={"or": patterns(100)}), by="viewer"),
        "patterns: plan with 150": Ask(4, "POST", "/v1/configuration/plan", plan({"S0": {"rules": rules}})),
        "trials: 16 endless stylesheets": Ask(16, "POST", "/v1/try", written({"stylesheet": endless, "document": "<a/>"})),
        "SOAP with 100,000 namespaces": Ask(4, "POST", "/soap", soap(namespaces), by="service", kind="text/xml"),
        "SOAP: poll with 100,000 namespaces": Ask(4, "POST", "/soap", polled(blocks), by="receiver", kind="text/xml"),
        "rule in XML with 25,000 conditions": Ask(4, "POST", "/v1/services/Evil%2FS0/rules", rule_in_xml(), kind=XML),
        "login form of 2 MiB": Ask(4, "POST", "/login", b"password=" + b"%41" * 700_000, kind=FORM),
        "JSON with a million documents": Ask(4, "POST", "/v1/messages", documents, by="service"),
        "plan of 3,000 services": Ask(2, "POST", "/v1/configuration/plan", plan(services)),
        "export of 3,000 services": Ask(4, "GET", "/v1/configuration", b""),
        "polls of 1,000": Ask(8, "POST", "/v1/poll", written({"max": POLLED, "leaseSeconds": 1}), by="receiver"),
        "console: 64 KiB of YAML": Ask(4, "POST", "", yaml_form(), by="browser", kind=FORM),
        "100 clients that ask for exports and do not read": Ask(100, "GET", "/v1/configuration", b"", is_read=False),
    }  # fmt: skip


def yaml_form() -> bytes:
    """A rule as it is written in the console, in a text of many small collections."""
    text = "x: [" + "{a: 1}, " * (YAML_CHARS // 8)
    return urlencode({"name": "r", "more": text[: YAML_CHARS - 10].rpartition(", ")[0] + "]"}).encode()


def written(value: object) -> bytes:
    return json.dumps(value).encode()


# --- requests ---------------------------------------------------------------------------------------------------------


async def ask(
    port: int,
    method: str,
    path: str,
    key: str = "",
    body: bytes = b"",
    kind: str = "application/json",
    cookie: str = "",
) -> tuple[int, bytes]:
    """Status and the rest of an answer, over a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    try:
        proof = f"authorization: Bearer {key}\r\n" if key else f"cookie: {cookie}\r\n" if cookie else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{proof}content-type: {kind}\r\nconnection: close\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.read(-1)
        return int(answer.split(maxsplit=2)[1]), answer
    finally:
        writer.close()


class Attacker:
    """The stranger, while the attack is prepared."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def asked(self, method: str, path: str, content: object, key: str = "") -> Any:
        status, answer = await ask(self._port, method, path, key, written(content))
        body = answer.partition(b"\r\n\r\n")[2]
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {body[:300]!r}")
        return json.loads(body) if body else None

    async def register(self, name: str) -> Target:
        """Register, and make what the attack with this name needs."""
        await self.asked("POST", "/v1/register", {"organization": "Evil", "name": "E", **ACCOUNT})
        owner = (await self.asked("POST", "/v1/login", ACCOUNT))["key"]
        for service in ("Post", "Poll", *[f"S{number}" for number in range(EXPLAINED)]):
            made = await self.asked("POST", "/v1/services", {"organization": "Evil", "name": service}, owner)
        for number in range(EXPLAINED):
            await self._add_rule(number, owner)
        keys = {"owner": owner, "viewer": await self._viewer(owner)}
        for who, service in (("service", "Post"), ("receiver", "Poll")):
            path = f"/v1/services/Evil%2F{service}/credentials"
            keys[who] = (await self.asked("POST", path, {"kind": "key", "label": "a"}, owner))["key"]
        if "export" in name:
            await self._grow(owner)
        if "poll" in name:
            await self._fill(keys["service"])
        cookie, csrf = await self._log_in(f"/rules/{made['gcid']}/new")
        return Target(self._port, keys, f"/rules/{made['gcid']}/check", cookie, csrf)

    async def _add_rule(self, number: int, owner: str) -> None:
        paths = [{"exists": {"body": f"//b//c{number}x{n}"}} for n in range(CONDITIONS)]
        rule = {"name": "r", "role": "recipient", "when": {"or": paths}, "then": [{"stopRuleEvaluation": True}]}
        await self.asked("POST", f"/v1/services/Evil%2FS{number}/rules", rule, owner)

    async def _viewer(self, owner: str) -> str:
        wish = {"email": VIEWER["email"], "name": "V", "role": "viewer"}
        invited = await self.asked("POST", "/v1/organizations/Evil/members", wish, owner)
        await self.asked("PUT", "/v1/account/password", {"password": VIEWER["password"]}, invited["key"])
        key: str = (await self.asked("POST", "/v1/login", VIEWER))["key"]
        return key

    async def _grow(self, owner: str) -> None:
        services: dict[str, Any] = {f"P{number}": {"description": "x"} for number in range(BIG)}
        document = {"postroad": 1, "organizations": {"Evil": {"services": services}}}
        plan = await self.asked("POST", "/v1/configuration/plan", {"document": document}, owner)
        wish = {"document": document, "version": plan["version"]}
        await self.asked("POST", "/v1/configuration/apply", wish, owner)

    async def _fill(self, key: str) -> None:
        """Post what is polled, no faster than organizations that register may."""
        one = written({"to": ["Evil/Poll"], "documents": [{"text": "<a>&amp;</a>" * 100}]}) + b"\n"
        posted = 0
        while posted < POLLED:
            status, _ = await ask(self._port, "POST", "/v1/messages/bulk", key, one * 100, "application/x-ndjson")
            posted += 100 if status == 200 else 0
            await asyncio.sleep(0.0 if status == 200 else 0.2)

    async def _log_in(self, page: str) -> tuple[str, str]:
        """The cookie of a browser, and what its forms prove where they come from with."""
        _, answer = await ask(self._port, "POST", "/login", "", urlencode(ACCOUNT).encode(), FORM)
        cookie = answer.partition(b"set-cookie: ")[2].partition(b";")[0].decode()
        _, shown = await ask(self._port, "GET", page, cookie=cookie)
        found = re.search(rb'name="csrf" value="([^"]+)"', shown)
        if not cookie or found is None:
            raise RuntimeError(f"the console could not be entered: {answer[:300]!r} {shown[:300]!r}")
        return cookie, found[1].decode()


async def attack(target: Target, wish: Ask) -> None:
    """Send the request over all connections again and again, until the process is ended; tells what was answered."""
    answers: Counter[str] = Counter()
    from_browser = wish.by == "browser"
    key, path = target.keys.get(wish.by, ""), wish.path or target.rule_check
    body = wish.body + (f"&csrf={quote(target.csrf)}".encode() if from_browser else b"")
    cookie = target.cookie if from_browser else ""

    async def again() -> None:
        while True:
            try:
                status, _ = await ask(target.port, wish.method, path, key, body, wish.kind, cookie)
                answers[str(status)] += 1
            except (OSError, IndexError, ValueError) as error:
                answers[type(error).__name__] += 1
                await asyncio.sleep(0.1)

    async def without_reading() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", target.port, limit=1 << 10)
        writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n".encode() * 20)
        await asyncio.Event().wait()

    async def tell() -> None:
        while True:
            print(" ".join(f"{status}: {number}" for status, number in sorted(answers.items())) or "-", flush=True)
            await asyncio.sleep(TOLD_EVERY_S)

    await asyncio.gather(tell(), *[(again if wish.is_read else without_reading)() for _ in range(wish.connections)])
