"""What is checked before a resource sees a request, in the order in which a stranger may learn about it.

First who is asking, then how often, then whether the answer's and the body's form are ones we speak, and only then what the body
says. So whoever may not ask learns nothing about how to ask.
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

from postroad.api.resources.rule_forms import rule_entry_of_xml
from postroad.core.admission.rate import RateState
from postroad.core.codecs.detect import CODECS
from postroad.core.model.caller import Caller
from postroad.errors import Refused
from postroad.flow.administration import ABSENT_S
from postroad.flow.authenticate import REQUIRED, Proof
from postroad.flow.reading import LARGE_BYTES, BodyReader, LargeBody
from postroad.flow.registration import check_approved
from postroad.flow.throttle import neighbourhood
from postroad.flow.trial_turns import act_for

BODY_BYTES = 1 << 20
MEMBERS_MOST = 50_000  # of one object or array in a large body
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
    """Anybody may ask."""

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
        limit(request, f"peer {neighbourhood(peer_of(request))}")


class HealthRoute(OpenRoute):
    """Asked by machines, often and in no particular form."""

    offered = (JSON, "text/plain")

    async def admit(self, request: Request) -> None:
        """Never limited: whoever watches the network must not be told to watch less."""


class GuardedRoute(OpenRoute):
    """Only somebody who has proved who they are may ask."""

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
            raise Refused("authentication.required", REQUIRED)  # nothing was guessed, so nobody is slowed down for it
        caller = await api.authenticator.authenticate(proof, peer_of(request))
        check_site(request)
        check_invited(request, caller)
        request.state.caller = caller
        act_for(caller)
        if request.method not in READING and not request.url.path.startswith(OWN_ACCOUNT):
            check_approved(caller, api.network.directory)
        limit(request, caller.organization.casefold() or caller.name)


class StoryRoute(GuardedRoute):
    """Answers about messages and deliveries. What others have takes longer to look up than what does not exist."""

    absent_s = ABSENT_S


class DocumentRoute(GuardedRoute):
    """Takes and gives whole configuration documents."""

    offered = (JSON, YAML)
    body_bytes = DOCUMENT_BYTES


class RuleRoute(GuardedRoute):
    """Takes and gives rules in JSON and in XML; what comes in XML goes on in JSON, so that both are checked alike."""

    offered = (JSON, XML)
    taken = (JSON, XML)

    async def receive(self, request: Request) -> Request:
        request = await super().receive(request)
        if content_type(request) != XML or request.method not in WITH_BODY:
            return request
        body = await request.body()
        if len(body) <= LARGE_BYTES:
            return with_json(request, rule_entry_of_xml(body))
        caller = request.state.caller
        heavy = request.app.state.api.network.heavy_requests
        entry = await heavy.run(caller.organization or caller.name, lambda: rule_entry_of_xml(body))
        return with_json(request, entry)


class ExplainedRoute(GuardedRoute):
    """Gives explanations in JSON, told as text, or drawn."""

    absent_s = ABSENT_S
    offered = (JSON, TEXT, SVG)


class MessageRoute(ExplainedRoute):
    """Takes a message in any form in which it could be posted."""

    taken = (*CODECS, XML)
    body_bytes = DOCUMENT_BYTES


class BenchRoute(GuardedRoute):
    """Takes whole messages and stylesheets, in JSON."""

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


def proof_of(request: Request) -> Proof:
    """What the request brought along, as the HTTP front hands it on."""
    tls = request.scope.get("extensions", {}).get("tls") or {}
    authorization = request.headers.get("authorization", "").encode("latin-1")
    return Proof(authorization, tls.get("client_cert_der"), request.scope.get("scheme") == "https")


def peer_of(request: Request) -> str:
    return request.client.host if request.client else ""


def check_site(request: Request) -> None:
    """Refuse what another site makes a browser send: it adds the person's password, and the person knows nothing of it."""
    if request.method not in READING and request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Refused("permission.denied", "Another site has made your browser send this; nothing was changed")


def check_invited(request: Request, caller: Caller) -> None:
    """Refuse whoever has only been invited: the one who invites has seen the key, and is not to act in their name."""
    if caller.invited and request.url.path not in INVITED:
        raise Refused(
            "permission.denied", "An invitation sets a password and nothing else; PUT /v1/account/password first"
        )


def limit(request: Request, who: str) -> None:
    """Count the request; the answer says how many are left."""
    api = request.app.state.api
    state: RateState = api.limiter.take(who, api.network.clock.monotonic())
    request.state.rate = state
    if not state.allowed:
        raise Refused("rate.exceeded", f"Too many requests; try again in {state.retry_after_s} s")


def check_accept(request: Request, offered: tuple[str, ...]) -> None:
    """Refuse when none of the forms we offer is one that the client takes."""
    ranges = {kind for kind, weight in accepted(request.headers.get("accept", "*/*")) if weight}
    mains = {f"{kind.partition('/')[0]}/*" for kind in offered}
    if not ranges & {"*/*", *mains, *offered}:
        raise Refused("wire.not-acceptable", f"This is answered as {' or '.join(offered)}; correct the Accept header")


def accepted(header: str) -> list[tuple[str, float]]:
    """The media ranges of an Accept header, and how much each is wanted (``q=0``: not at all)."""
    found = []
    for item in header.lower().split(",") if header.strip() else ["*/*"]:
        kind, *parameters = [part.strip() for part in item.split(";")]
        weights = [WEIGHT.fullmatch(parameter.replace(" ", "")) for parameter in parameters]
        found.append((kind, next((float(weight[1]) for weight in weights if weight), 1.0)))
    return found


def content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def with_json(request: Request, content: Any) -> Request:
    """The same request as if it had come with this content in JSON."""
    headers = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
    changed = Request({**request.scope, "headers": [*headers, (b"content-type", JSON.encode())]}, request.receive)
    changed._body = msgspec.json.encode(content)
    return changed


def prefers(request: Request, kind: str) -> bool:
    """Whether the client wants this form more than JSON, or as much and names it first."""
    named = accepted(request.headers.get("accept", "*/*"))
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
            raise Refused("wire.too-large", f"A body here has at most {most_bytes} bytes")
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
    """The content of a large body: looked at in another process first, then read piece by piece in a thread.

    A parser of JSON holds the interpreter's lock until it is through, so no piece may have very many members.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    who = (caller.organization or caller.name) if caller is not None else neighbourhood(peer_of(request))
    heavy = request.app.state.api.network.heavy_requests
    async with heavy.turn(who, len(body)):
        read = await reader.read(LargeBody(kind="json", body=body))
    if read.refusal is not None:
        raise read.refusal.refused()
    if read.widest > MEMBERS_MOST:
        raise Refused("wire.too-complex", f"An object or array in a large body here has at most {MEMBERS_MOST} members")
    return await heavy.run(who, lambda: in_pieces(body), len(body))


def in_pieces(text: bytes) -> Any:
    """What JSON says; each call of the parser is about a small piece, or makes few objects."""
    if len(text) <= LARGE_BYTES:
        return json.loads(text)
    first = text.lstrip()[:1]
    if first == b"{":
        members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return {name: in_pieces(bytes(value)) for name, value in members.items()}
    if first == b"[":
        return [in_pieces(bytes(value)) for value in msgspec.json.decode(text, type=list[msgspec.Raw])]
    return json.loads(text)
