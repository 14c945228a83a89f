"""The blocking client: carries out conversations with httpx2, one step after the other."""

from __future__ import annotations

import os
import random
import secrets
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar, Unpack

import httpx2

from postroad.client import configuration, contents, plain, requests, responses, routing, trusting
from postroad.client.access import Access
from postroad.client.batches import Batches
from postroad.client.bindings import Bindings
from postroad.client.chunk_posting import Answer
from postroad.client.compose import Fields, message
from postroad.client.consuming import answer_to, consume
from postroad.client.conversations import Conversations, Progress
from postroad.client.dead_letters import DeadLetters
from postroad.client.exchange import (
    Call,
    Came,
    Interrupted,
    Lost,
    Pause,
    Raised,
    Request,
    Response,
    Returned,
    Step,
    Talk,
)
from postroad.client.losing import lost
from postroad.client.models import Models
from postroad.client.plain import PlainMessage
from postroad.client.received import Received
from postroad.client.retrying import Retrying
from postroad.client.stopping import Stopping
from postroad.core.audit.story import History
from postroad.core.model.message import Delivered, Message, Part, PostResult
from postroad.core.model.polling import EVERYTHING, Outcome, PollRequest, Selector, Settlement, SettlementResult

_Value = TypeVar("_Value")
TIMEOUT_S = 30.0
NOTHING: Mapping[str, str] = MappingProxyType({})
Function = Callable[[Received], Any]


class Client:
    """Safe to use from several threads, except that one ``handle`` runs at a time."""

    def __init__(
        self,
        url: str = "",
        key: str = "",
        *,
        key_file: str | os.PathLike[str] = "",
        access: Access | None = None,
        retrying: Retrying | None = None,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Without arguments, address and key come from POSTROAD_URL and POSTROAD_KEY or POSTROAD_KEY_FILE."""
        self.access = access or Access.found_in(os.environ, url=url, key=key, key_file=key_file, needs_key=tls is None)
        self._timeout_s = timeout_s
        self._http = httpx2.Client(base_url=self.access.url, verify=tls if tls is not None else True)
        self._talks = Conversations(
            retrying=retrying or Retrying(), jitter=random.random, fresh_key=lambda: secrets.token_hex(16)
        )
        self._stopping = Stopping()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # ---- messages

    def post(self, **fields: Unpack[Fields]) -> PostResult:
        """Post one message; returns once the network has made it durable."""
        return self.post_message(message(**fields))

    def post_message(self, prepared: Message) -> PostResult:
        return self._run(self._talks.post(prepared))

    def post_many(self, messages: Iterable[Message], progress: Progress = lambda done: None) -> list[Answer]:
        """Post any number of messages in a few calls; one answer each, in order. ``progress`` is told how many are done."""
        return self._run(self._talks.post_many(messages, progress))

    def poll(
        self,
        most: int = 10,
        *,
        wait_s: float = 0.0,
        lease_s: float = 0.0,
        select: Selector = EVERYTHING,
        trace: bool = False,
    ) -> list[Received]:
        """Take waiting messages; they come again after the lease unless acknowledged.

        With ``trace`` each tells which services it has passed (``message.trace``).
        """
        polling = PollRequest(max=most, wait_s=wait_s, lease_s=lease_s, select=select, trace=trace)
        return self._run(self._talks.poll(polling))

    def post_wire(
        self, body: bytes, content_type: str, *, headers: Mapping[str, str] = NOTHING, **fields: Unpack[Fields]
    ) -> PostResult:
        """Post bytes in a plain format as they are (SOAP, multipart, DIME, any document); the fields say where they go."""
        return self._run(self._talks.post_wire(body, content_type, message(**fields), headers))

    def next_message(self, *, wait_s: float = 0.0, lease_s: float = 0.0) -> PlainMessage | None:
        """The next waiting message in the service's own format, or None; acknowledge its ``token`` when it is done with."""
        return self._run(self._talks.ask(plain.next_message(wait_s, lease_s), plain.handed))

    def acknowledge(self, *messages: Delivered | str) -> SettlementResult:
        """These messages (or tokens) are done with and never come again."""
        return self._run(self._talks.settle(Settlement(tokens=tokens_of(messages))))

    def give_back(self, *messages: Delivered | str, delay_s: float = 0.0, reason: str = "") -> SettlementResult:
        """These messages could not be handled; they come again after the delay."""
        settlement = Settlement(tokens=tokens_of(messages), outcome=Outcome.NACK, delay_s=delay_s, reason=reason)
        return self._run(self._talks.settle(settlement))

    def reply(self, delivered: Delivered, document: Any = None) -> PostResult:
        """Answer a request, which also acknowledges it; ``document`` may be a ``Reply`` with several or a status."""
        return self._run(self._talks.reply(answer_to(delivered, document)))

    def cancel(self, session: str) -> PostResult:
        """Withdraw what has not been delivered yet; the result says for each recipient whether it was in time."""
        return self._run(self._talks.cancel(session))

    def handle(
        self,
        function: Function,
        *,
        most: int = 10,
        wait_s: float = 20.0,
        lease_s: float = 300.0,
        select: Selector = EVERYTHING,
    ) -> int:
        """Call ``function`` with every message until SIGINT, SIGTERM or ``stop``; returns how many were handled.

        A message is acknowledged when the function returns; what it returns is the reply to a request. An exception gives the
        message back, to come again later, and what could not be begun within ``lease_s`` comes again, too.
        """
        polling = PollRequest(max=most, wait_s=wait_s, lease_s=lease_s, select=select)
        with self._stopping.by_signals():
            return self._run(consume(self._talks, polling, self._stopping, time.monotonic), function)

    def stop(self) -> None:
        """End ``handle`` (the next one, when none runs) after its message or wait; for other threads and the function."""
        self._stopping.ask()

    # ---- looking and configuring

    def find(self, text: str, *, most: int = 0) -> list[dict[str, Any]]:
        """Whatever is known by a text, or the first few; a single message says in ``whereabouts`` where it is.

        The text is a session, token, handle, control number, partner's reference or business key, the id of a batch, or the
        GCID or address of a service. ``kind`` tells what each thing is, and ``by`` what the text is of it.
        """
        return self._run(routing.first(self._talks, "/v1/find", most, q=text))

    def trace(self, session: str) -> History:
        """The whole history of the transaction that the session belongs to."""
        return self._run(self._talks.ask(requests.trace(session), responses.history))

    def parts_at(self, session: str, delivery: int) -> tuple[Part, ...]:
        """The message as it was delivered to one stop of its trace, as far as the caller may see it."""
        return self._run(contents.parts_at(self._talks, session, delivery))

    def receipt_at(self, session: str, delivery: int) -> bytes:
        """The receipt (MDN) by which the AS2 partner at one stop of the trace has confirmed the message, as it came."""
        return self._run(contents.receipt_at(self._talks, session, delivery))

    def contents(self, history: History) -> dict[int, tuple[Part, ...]]:
        """What was delivered to each stop of a history, by the delivery's number, as far as the caller may see it."""
        return self._run(contents.contents(self._talks, history))

    def get(self, path: str, **query: str | int) -> Any:
        """Any resource of the API, as JSON."""
        return self._run(self._talks.value(requests.read(path, **query)))

    def every(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Every item of a list of the API, however many pages it has."""
        return self._run(routing.every(self._talks, path, **query))

    def change(self, method: str, path: str, value: Any = None, *, version: str = "") -> Any:
        """Make, replace or remove a resource; ``version`` is the ETag that was read.

        A POST whose answer was lost is not tried again, because only messages are recognised when they come twice.
        """
        request = requests.change(method, path, value, version=version, doubles=method == "POST")
        return self._run(self._talks.value(request))

    def export(self) -> dict[str, Any]:
        """The network's configuration as far as the caller may see it, without secrets."""
        return self._run(self._talks.ask(configuration.export(), configuration.exported))

    def plan(self, desired: dict[str, Any], *, prune: bool = False) -> configuration.Plan:
        """What ``apply`` would change."""
        return self._run(self._talks.ask(configuration.plan(desired, prune), configuration.planned))

    def apply(self, desired: dict[str, Any], *, prune: bool = False, version: str = "") -> configuration.Plan:
        """Make the configuration so, at once or not at all; ``version`` is that of the plan somebody agreed to."""
        return self._run(self._talks.ask(configuration.apply(desired, prune, version), configuration.planned))

    # ---- rules and assets of services

    def rules(self, service: str) -> list[dict[str, Any]]:
        """The rules of a service, in their order."""
        return self._run(routing.every(self._talks, routing.service_path(service, "rules")))

    def rule(self, service: str, name: str) -> Any:
        return self._run(self._talks.value(requests.read(routing.service_path(service, "rules", name))))

    def save_rule(self, service: str, rule: Mapping[str, Any]) -> dict[str, Any]:
        """Make the rule, or replace the one of its name; written as in a configuration document."""
        return self._run(routing.save_rule(self._talks, service, rule))

    def adjust_rule(self, service: str, name: str, **wish: Any) -> dict[str, Any]:
        """``enabled=False`` switches a rule off, ``place=1`` moves it to the front."""
        return self._run(routing.adjust_rule(self._talks, service, name, **wish))

    def remove_rule(self, service: str, name: str) -> None:
        self._run(routing.remove_rule(self._talks, service, name))

    def assets(self, service: str, kind: str = "") -> list[dict[str, Any]]:
        """The assets of a service, without their contents."""
        return self._run(routing.every(self._talks, routing.service_path(service, "assets"), kind=kind))

    def asset(self, service: str, kind: str, name: str) -> str:
        """The content of an asset; ``kind`` is stylesheet, table, list, map, query, script, schema, dtd or jsonschema."""
        return self._run(routing.asset(self._talks, service, kind, name))

    def save_asset(
        self, service: str, kind: str, name: str, content: str, *, description: str | None = None
    ) -> dict[str, Any]:
        """Make the asset, or replace the one of its name, once the network has found it in order."""
        return self._run(routing.save_asset(self._talks, service, kind, name, content, description))

    def remove_asset(self, service: str, kind: str, name: str) -> None:
        self._run(routing.remove_asset(self._talks, service, kind, name))

    def release(self, service: str) -> Any:
        """Have everything pushed that is held back for a service; says how many messages are going."""
        return self.change("POST", routing.service_path(service, "release"))

    # ---- why a message goes its way

    def explain(self, form: str = "json", **fields: Unpack[Fields]) -> Any:
        """Which way a message would go, and why; nothing is stored or sent. ``form`` is json, text or svg."""
        return self.explain_message(message(**fields), form)

    def explain_message(self, prepared: Message, form: str = "json") -> Any:
        return self._run(self._talks.ask(routing.explain(prepared, form), routing.explained))

    def explanation(self, session: str, form: str = "json") -> Any:
        """Which way a posted message went, and why."""
        return self._run(self._talks.ask(routing.explanation(session, form), routing.explained))

    def try_out(self, **wish: Any) -> Any:
        """What a rule, condition, stylesheet or schema would do with a message; nothing is stored or sent."""
        return self._run(self._talks.value(routing.trial(wish)))

    # ---- exchanges

    @property
    def bindings(self) -> Bindings:
        """What is bound to exchanges: bind, look, try, unbind."""
        return Bindings(self._talks, self._run)

    @property
    def models(self) -> Models:
        """Trees that messages are routed by: read, change and import them, attach services, ask who would receive."""
        return Models(self._talks, self._run)

    # ---- what leaves together, and what failed

    @property
    def batches(self) -> Batches:
        """What batchers gather: look at it, release, hold, resume or drop it."""
        return Batches(self._talks, self._run)

    @property
    def dead_letters(self) -> DeadLetters:
        """Messages that failed for good: look at them, resend or drop them."""
        return DeadLetters(self._talks, self._run)

    # ---- trust

    def confirm_provisioning(self, gcid: str, token: str, cookie: Any = None) -> None:
        """As a provider: this service stands for a customer's account. The cookie comes with its messages from now on."""
        self._run(trusting.said(self._talks, trusting.confirmation(gcid, token, cookie), gcid=gcid, then="active"))

    def inspect_provisioning(self, gcid: str, token: str) -> dict[str, Any]:
        """As a provider: who wants to be connected; show it on the page, so that nobody logs in for somebody else's sake."""
        found: dict[str, Any] = self.change("POST", trusting.inspection_path(gcid), {"token": token})
        return found

    def revoke_provisioning(self, gcid: str) -> None:
        """As a provider, or as the service that stands for an account: it does so no longer, at once."""
        self._run(trusting.said(self._talks, trusting.revocation(gcid), gcid=gcid, then="revoked"))

    def register_cookie(self, sender: str, cookie: Any) -> None:
        """As a service: tell me this again with every message from the sender. None: not any more."""
        self._run(trusting.said(self._talks, trusting.registration(sender, cookie)))

    def begin_provisioning(
        self, organization: str, provider: str, service: str, *, return_path: str = ""
    ) -> dict[str, Any]:
        """As a person: have a service stand for your account with a provider; ``redirect`` says where to log in."""
        wish = {"provider": provider, "service": service, "returnPath": return_path}
        begun: dict[str, Any] = self.change("POST", trusting.provisionings_path(organization), wish)
        return begun

    def provisionings(self, organization: str) -> list[dict[str, Any]]:
        """Those that the organization has begun, and those that it has confirmed as a provider."""
        return self.every(trusting.provisionings_path(organization))

    def end_provisioning(self, service: str) -> None:
        """As a person of either party: revoke it, at once."""
        self.change("DELETE", trusting.provisioning_path(service))

    def cookies(self, service: str) -> list[dict[str, Any]]:
        """The cookies that a service of your organization has registered."""
        return self.every(routing.service_path(service, "cookies"))

    def set_cookie(
        self, service: str, sender: str, content: str, *, content_type: str = "text/plain"
    ) -> dict[str, Any]:
        wish = {"content": content, "contentType": content_type}
        saved: dict[str, Any] = self.change("PUT", trusting.cookie_path(service, sender), wish)
        return saved

    def remove_cookie(self, service: str, sender: str) -> None:
        self.change("DELETE", trusting.cookie_path(service, sender))

    # ---- carrying it out

    def _run(self, talk: Talk[_Value], function: Function | None = None) -> _Value:
        try:
            step = next(talk)
            while True:
                try:
                    came = self._carry_out(step, function)
                except Interrupted as interrupted:
                    step = talk.throw(interrupted)
                else:
                    step = talk.send(came)
        except StopIteration as end:
            value: _Value = end.value
            return value

    def _carry_out(self, step: Step, function: Function | None) -> Came:
        match step:
            case Request():
                with self._stopping.interruptible(function is not None and step.interruptible):
                    return self._send(step)
            case Pause():
                (self._stopping.wait if function is not None and step.interruptible else time.sleep)(step.seconds)
                return None
            case Call() if function is not None:
                return called(function, step.message)
        raise TypeError(f"there is no function to call with {step!r}")

    def _send(self, request: Request) -> Response | Lost:
        headers = dict(requests.with_authorization(request, self.access.authorization))
        timeout = httpx2.Timeout(self._timeout_s, read=self._timeout_s + request.wait_s)
        try:
            answer = self._http.request(
                request.method, request.path, headers=headers, content=request.body, timeout=timeout
            )
        except httpx2.TransportError as error:
            return lost(error, self.access.url)
        return Response(status=answer.status_code, headers=dict(answer.headers), body=answer.content)


def called(function: Function, delivered: Received) -> Returned | Raised:
    try:
        return Returned(function(delivered))
    except Exception as error:  # the loop must outlive whatever its user's function does
        return Raised(error)


def tokens_of(messages: Iterable[Delivered | str]) -> tuple[str, ...]:
    return tuple(item if isinstance(item, str) else item.token for item in messages)
