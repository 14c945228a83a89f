"""Checks that run before a resource sees a request, in the order that reveals least to strangers.

They authenticate the caller, then check the rate limit, then the formats of the answer and the body, and only then
the body itself. So a caller without permission learns nothing about the request format.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute

from postroad.core.admission.rate_limit import RateState
from postroad.core.codecs.native_formats import CODECS
from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.configuration.entries.rules import rule_entry
from postroad.core.model.caller import Caller
from postroad.errors import Refused
from postroad.flow.access.authenticate import REQUIRED, Proof
from postroad.flow.access.throttle import normalize_peer
from postroad.flow.administration.base import ABSENT_S
from postroad.flow.administration.registration import check_approved
from postroad.flow.concurrency.trial_limit import set_trial_organization
from postroad.flow.stages.body_reader import LARGE_BYTES, BodyReader, LargeBody

BODY_BYTES = 1 << 20
MAX_JSON_MEMBERS = 50_000  # of one object or array in a large body
DOCUMENT_BYTES = 8 << 20  # configuration documents
JSON, XML, TEXT, SVG = "application/json", "application/xml", "text/plain", "image/svg+xml"
YAML = "application/yaml"
ASSET_TYPES = (
    "application/xslt+xml", XML, "text/xml", "text/csv", JSON, "text/plain", "application/xml-dtd", "application/schema+json"
)  # fmt: skip
WEIGHT = re.compile(r"q=([01](?:\.[0-9]*)?)")
READING = frozenset({"GET", "HEAD"})
OWN_ACCOUNT = ("/v1/account", "/v1/logout")  # what people change of themselves
INVITED = frozenset({"/v1/account", "/v1/account/password"})  # where an invitation is good for something
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

Served = Callable[[Request], Coroutine[Any, Any, Response]]


class OpenRoute(APIRoute):
    """A route without authentication."""

    offered: tuple[str, ...] = (JSON,)
    taken: tuple[str, ...] = (JSON,)
    body_bytes = BODY_BYTES

    def get_route_handler(self) -> Served:
        served = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            await self.admit(request)
            check_accept(request, self.offered)
            return await served(await self.receive(request))

        return guarded

    async def receive(self, request: Request) -> Request:
        """The request with its body read and found acceptable."""
        if request.method in WITH_BODY:
            await check_body(request, self.body_bytes, self.taken)
        return request

    async def admit(self, request: Request) -> None:
        limit_rate(request, f"peer {normalize_peer(peer_of(request))}")


class HealthRoute(OpenRoute):
    """Asked by machines, often and in no particular form."""

    offered = (JSON, "text/plain")

    async def admit(self, request: Request) -> None:
        """Admits every request without a rate limit, so that monitoring is never throttled."""


class GuardedRoute(OpenRoute):
    """A route that requires authentication."""

    absent_s = 0.0  # "not found" is not answered sooner; 0: at once

    def get_route_handler(self) -> Served:
        served = super().get_route_handler()

        async def evenly(request: Request) -> Response:
            answered_at = asyncio.get_running_loop().time() + self.absent_s
            try:
                return await served(request)
            except Refused as refusal:
                if refusal.code == "not-found":
                    await asyncio.sleep(max(0.0, answered_at - asyncio.get_running_loop().time()))
                raise

        return evenly if self.absent_s else served

    async def admit(self, request: Request) -> None:
        api = request.app.state.api
        proof = proof_of(request)
        if not proof.authorization and proof.certificate_der is None:
            raise Refused("authentication.required", REQUIRED)  # nothing was guessed, so no one is slowed down for it
        caller = await api.authenticator.authenticate(proof, peer_of(request))
        check_site(request)
        check_invited(request, caller)
        request.state.caller = caller
        set_trial_organization(caller)
        if request.method not in READING and not request.url.path.startswith(OWN_ACCOUNT):
            check_approved(caller, api.network.directory)
        limit_rate(request, caller.organization.casefold() or caller.name)


class HistoryRoute(GuardedRoute):
    """A route about messages and deliveries; a minimum response time hides whether hidden ones exist.

    A hidden message takes longer to look up than a missing one.
    """

    absent_s = ABSENT_S


class DocumentRoute(GuardedRoute):
    """A route that takes and returns whole configuration documents."""

    offered = (JSON, YAML)
    body_bytes = DOCUMENT_BYTES


class RuleRoute(GuardedRoute):
    """A route that accepts and returns rules in JSON and XML; XML is converted to JSON before validation."""

    offered = (JSON, XML)
    taken = (JSON, XML)

    async def receive(self, request: Request) -> Request:
        request = await super().receive(request)
        if content_type(request) != XML or request.method not in WITH_BODY:
            return request
        body = await request.body()
        if len(body) <= LARGE_BYTES:
            return replace_body(request, read_rule_xml(body))
        caller = request.state.caller
        heavy = request.app.state.api.network.heavy_requests
        entry = await heavy.run(caller.organization or caller.name, lambda: read_rule_xml(body))
        return replace_body(request, entry)


class ExplainedRoute(GuardedRoute):
    """A route that returns explanations as JSON, text or SVG."""

    absent_s = ABSENT_S
    offered = (JSON, TEXT, SVG)


class MessageRoute(ExplainedRoute):
    """Takes a message in any form in which it could be posted."""

    taken = (*CODECS, XML)
    body_bytes = DOCUMENT_BYTES


class TrialRoute(GuardedRoute):
    """A route that takes whole messages and stylesheets, in JSON."""

    body_bytes = DOCUMENT_BYTES


class AssetRoute(GuardedRoute):
    """Takes and gives the contents of assets, as the files that they are."""

    offered = ASSET_TYPES
    taken = ASSET_TYPES
    body_bytes = DOCUMENT_BYTES


class PayloadRoute(GuardedRoute):
    """Gives bytes as they are."""

    absent_s = ABSENT_S
    offered = ("text/plain", "application/octet-stream")


def read_rule_xml(body: bytes) -> dict[str, Any]:
    """Return the single rule of an XML body in its JSON form."""
    rules = decode_rules(body, "")
    if len(rules) != 1:
        raise Refused("value.invalid", f"Send one Rule at a time; here are {len(rules)}")
    return rule_entry(rules[0])


def proof_of(request: Request) -> Proof:
    """The credentials of a request, as the HTTP front passed them on."""
    tls = request.scope.get("extensions", {}).get("tls") or {}
    authorization = request.headers.get("authorization", "").encode("latin-1")
    return Proof(authorization, tls.get("client_cert_der"), request.scope.get("scheme") == "https")


def peer_of(request: Request) -> str:
    return request.client.host if request.client else ""


def check_site(request: Request) -> None:
    """Refuse cross-site browser requests, to which the browser adds the person's password without their knowledge."""
    if request.method not in READING and request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Refused("permission.denied", "The request came from another site; nothing was changed")


def check_invited(request: Request, caller: Caller) -> None:
    """Refuses people who are only invited, because the inviter has seen their key."""
    if caller.invited and request.url.path not in INVITED:
        raise Refused("permission.denied", "An invitation can only set a password; PUT /v1/account/password first")


def limit_rate(request: Request, who: str) -> None:
    """Counts the request against its rate limit; the response states what is left."""
    api = request.app.state.api
    state: RateState = api.limiter.take(who, api.network.clock.monotonic())
    request.state.rate = state
    if not state.allowed:
        api.network.metrics.counter("rate_limited_total", "api").value += 1
        raise Refused("rate.exceeded", f"Too many requests; try again in {state.retry_after_s} s")


def check_accept(request: Request, offered: tuple[str, ...]) -> None:
    """Refuse if the client accepts none of the offered formats."""
    ranges = {kind for kind, weight in parse_accept(request.headers.get("accept", "*/*")) if weight}
    mains = {f"{kind.partition('/')[0]}/*" for kind in offered}
    if not ranges & {"*/*", *mains, *offered}:
        raise Refused(
            "wire.not-acceptable", f"The response is available as {' or '.join(offered)}; correct the Accept header"
        )


def parse_accept(header: str) -> list[tuple[str, float]]:
    """The media ranges of an Accept header, and how much each is wanted (``q=0``: not at all)."""
    found = []
    for item in header.lower().split(",") if header.strip() else ["*/*"]:
        kind, *parameters = [part.strip() for part in item.split(";")]
        weights = [WEIGHT.fullmatch(parameter.replace(" ", "")) for parameter in parameters]
        found.append((kind, next((float(weight[1]) for weight in weights if weight), 1.0)))
    return found


def content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def replace_body(request: Request, content: Any) -> Request:
    """Returns a copy of the request with this JSON content as its body."""
    headers = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
    changed = Request({**request.scope, "headers": [*headers, (b"content-type", JSON.encode())]}, request.receive)
    changed._body = msgspec.json.encode(content)
    return changed


def prefers(request: Request, kind: str) -> bool:
    """Whether the client wants this form more than JSON, or as much and names it first."""
    named = parse_accept(request.headers.get("accept", "*/*"))
    weights = dict(reversed(named))
    own = weights.get(kind, 0.0)
    json = next((weights[name] for name in (JSON, "application/*", "*/*") if name in weights), 0.0)
    if own != json or JSON not in weights:
        return own > 0 and own >= json
    return own > 0 and list(weights).index(kind) > list(weights).index(JSON)  # which are in reverse


async def check_body(request: Request, most_bytes: int, taken: tuple[str, ...]) -> None:
    """Read the body within its limit, and make sure that it is of a type that is taken here; JSON must be JSON."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most_bytes:
            raise Refused("wire.too-large", f"The body may have at most {most_bytes} bytes")
        pieces.append(piece)
    body = b"".join(pieces)
    request._body = body  # where Starlette keeps it once read; FastAPI reads it from there
    if not body:
        return
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refused("wire.unsupported", "Send the body without Content-Encoding")
    kind = content_type(request)
    if kind not in taken:
        raise Refused("wire.unsupported", f"Send {' or '.join(taken)} here")
    if kind != JSON:
        return
    reader = request.app.state.api.reader
    if len(body) > LARGE_BYTES and reader is not None:
        request._json = await read_large_json(request, body, reader)  # where Starlette keeps it
        return
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise Refused("request.malformed", f"The body is not JSON: {str(error)[:200]}") from None


async def read_large_json(request: Request, body: bytes, reader: BodyReader) -> Any:
    """Return the content of a large body, checked in another process first, then parsed piece by piece in a thread.

    A JSON parser holds the interpreter lock until it has finished, so no piece may have very many members.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    who = (caller.organization or caller.name) if caller is not None else normalize_peer(peer_of(request))
    heavy = request.app.state.api.network.heavy_requests
    async with heavy.slot(who, len(body)):
        read = await reader.read(LargeBody(kind="json", body=body))
    if read.refusal is not None:
        raise read.refusal.build_refusal()
    if read.widest > MAX_JSON_MEMBERS:
        raise Refused(
            "wire.too-complex", f"An object or array in a large body may have at most {MAX_JSON_MEMBERS} members"
        )
    return await heavy.run(who, lambda: read_json_pieces(body), len(body))


def read_json_pieces(text: bytes) -> Any:
    """Parses JSON piece by piece, so that no parser call holds the interpreter's lock for long."""
    if len(text) <= LARGE_BYTES:
        return json.loads(text)
    first = text.lstrip()[:1]
    if first == b"{":
        members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return {name: read_json_pieces(bytes(value)) for name, value in members.items()}
    if first == b"[":
        return [read_json_pieces(bytes(value)) for value in msgspec.json.decode(text, type=list[msgspec.Raw])]
    return json.loads(text)
