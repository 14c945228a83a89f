"""The asynchronous client: runs the conversations of the blocking client with asyncio."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from inspect import isawaitable
from types import TracebackType
from typing import Any, TypeVar, Unpack

import httpx2

from postroad.client import configuration, contents, external_format, provisioning, requests, responses, routing
from postroad.client.access import Access
from postroad.client.batches import AsyncBatches
from postroad.client.billing import AsyncBilling
from postroad.client.bindings import AsyncBindings
from postroad.client.blocking import NOTHING, TIMEOUT_S, list_tokens
from postroad.client.chunk_post import Answer
from postroad.client.compose import MessageFields, message
from postroad.client.connection_errors import describe_no_response
from postroad.client.consumer import build_answer, consume
from postroad.client.conversations import Conversations, Progress
from postroad.client.dead_letters import AsyncDeadLetters
from postroad.client.external_format import PlainMessage
from postroad.client.models import AsyncModels
from postroad.client.received_message import Received
from postroad.client.retries import Retrying
from postroad.client.steps import (
    ApiRequest,
    ApiResponse,
    ConversationStep,
    FunctionCall,
    FunctionRaised,
    FunctionReturned,
    Interrupted,
    NoResponse,
    RetryPause,
    StepResult,
    Talk,
)
from postroad.client.stop_signals import AsyncStopping
from postroad.core.model.history import History
from postroad.core.model.message import Delivered, Message, Part, PostResult
from postroad.core.model.polling import EVERYTHING, Outcome, PollRequest, Selector, Settlement, SettlementResult

_Value = TypeVar("_Value")
Function = Callable[[Received], Any]  # may be a coroutine function


class AsyncClient:
    """The client for asyncio; each method works like that of ``Client`` and must be awaited."""

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
        self.access = access or Access.found_in(os.environ, url=url, key=key, key_file=key_file, needs_key=tls is None)
        self._timeout_s = timeout_s
        self._http = httpx2.AsyncClient(base_url=self.access.url, verify=tls if tls is not None else True)
        self._talks = Conversations(
            retrying=retrying or Retrying(), jitter=random.random, fresh_key=lambda: secrets.token_hex(16)
        )
        self._stopping = AsyncStopping()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    # ---- messages

    async def post(self, **fields: Unpack[MessageFields]) -> PostResult:
        return await self.post_message(message(**fields))

    async def post_message(self, prepared: Message) -> PostResult:
        return await self._run(self._talks.post(prepared))

    async def post_many(self, messages: Iterable[Message], progress: Progress = lambda done: None) -> list[Answer]:
        return await self._run(self._talks.post_many(messages, progress))

    async def poll(
        self,
        most: int = 10,
        *,
        wait_s: float = 0.0,
        lease_s: float = 0.0,
        select: Selector = EVERYTHING,
        trace: bool = False,
    ) -> list[Received]:
        polling = PollRequest(max=most, wait_s=wait_s, lease_s=lease_s, select=select, trace=trace)
        return await self._run(self._talks.poll(polling))

    async def post_wire(
        self, body: bytes, content_type: str, *, headers: Mapping[str, str] = NOTHING, **fields: Unpack[MessageFields]
    ) -> PostResult:
        return await self._run(self._talks.post_wire(body, content_type, message(**fields), headers))

    async def next_message(self, *, wait_s: float = 0.0, lease_s: float = 0.0) -> PlainMessage | None:
        return await self._run(
            self._talks.ask(external_format.next_message(wait_s, lease_s), external_format.parse_message)
        )

    async def acknowledge(self, *messages: Delivered | str) -> SettlementResult:
        return await self._run(self._talks.settle(Settlement(tokens=list_tokens(messages))))

    async def give_back(self, *messages: Delivered | str, delay_s: float = 0.0, reason: str = "") -> SettlementResult:
        settlement = Settlement(tokens=list_tokens(messages), outcome=Outcome.NACK, delay_s=delay_s, reason=reason)
        return await self._run(self._talks.settle(settlement))

    async def reply(self, delivered: Delivered, document: Any = None) -> PostResult:
        return await self._run(self._talks.reply(build_answer(delivered, document)))

    async def cancel(self, session: str) -> PostResult:
        """Withdraw undelivered copies; the result states for each recipient whether that succeeded."""
        return await self._run(self._talks.cancel(session))

    async def handle(
        self,
        function: Function,
        *,
        most: int = 10,
        wait_s: float = 20.0,
        lease_s: float = 300.0,
        select: Selector = EVERYTHING,
    ) -> int:
        """Handle messages until stopped, like ``Client.handle``; ``function`` may be a coroutine function."""
        polling = PollRequest(max=most, wait_s=wait_s, lease_s=lease_s, select=select)
        with self._stopping.by_signals():
            return await self._run(consume(self._talks, polling, self._stopping, time.monotonic), function)

    def stop(self) -> None:
        """End ``handle`` after the current message, at once while it waits; from other threads by ``call_soon_threadsafe``."""
        self._stopping.ask()

    # ---- looking and configuring

    async def find(self, text: str, *, most: int = 0) -> list[dict[str, Any]]:
        return await self._run(routing.list_first(self._talks, "/v1/find", most, q=text))

    async def trace(self, session: str) -> History:
        return await self._run(self._talks.ask(requests.trace(session), responses.parse_history))

    async def parts_at(self, session: str, delivery: int) -> tuple[Part, ...]:
        return await self._run(contents.load_parts(self._talks, session, delivery))

    async def receipt_at(self, session: str, delivery: int) -> bytes:
        return await self._run(contents.load_mdn(self._talks, session, delivery))

    async def contents(self, history: History) -> dict[int, tuple[Part, ...]]:
        return await self._run(contents.load_contents(self._talks, history))

    async def get(self, path: str, **query: str | int) -> Any:
        return await self._run(self._talks.value(requests.read(path, **query)))

    async def every(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Yield every item of a list of the API, over all pages."""
        return await self._run(routing.list_all(self._talks, path, **query))

    async def change(self, method: str, path: str, value: Any = None, *, version: str = "") -> Any:
        request = requests.change(method, path, value, version=version, doubles=method == "POST")
        return await self._run(self._talks.value(request))

    async def export(self) -> dict[str, Any]:
        return await self._run(self._talks.ask(configuration.export(), configuration.parse_export))

    async def plan(self, desired: dict[str, Any], *, prune: bool = False) -> configuration.PlannedChanges:
        return await self._run(self._talks.ask(configuration.plan(desired, prune), configuration.parse_plan))

    async def apply(
        self, desired: dict[str, Any], *, prune: bool = False, version: str = ""
    ) -> configuration.PlannedChanges:
        return await self._run(self._talks.ask(configuration.apply(desired, prune, version), configuration.parse_plan))

    # ---- rules and assets of services

    async def rules(self, service: str) -> list[dict[str, Any]]:
        """The rules of a service, in their order."""
        return await self._run(routing.list_all(self._talks, routing.service_path(service, "rules")))

    async def rule(self, service: str, name: str) -> Any:
        return await self._run(self._talks.value(requests.read(routing.service_path(service, "rules", name))))

    async def save_rule(self, service: str, rule: Mapping[str, Any]) -> dict[str, Any]:
        """Make the rule, or replace the one of its name; written as in a configuration document."""
        return await self._run(routing.save_rule(self._talks, service, rule))

    async def adjust_rule(self, service: str, name: str, **wish: Any) -> dict[str, Any]:
        """Change a rule: ``enabled=False`` disables it, ``place=1`` moves it to the front."""
        return await self._run(routing.adjust_rule(self._talks, service, name, **wish))

    async def remove_rule(self, service: str, name: str) -> None:
        await self._run(routing.remove_rule(self._talks, service, name))

    async def assets(self, service: str, kind: str = "") -> list[dict[str, Any]]:
        """The assets of a service, without their contents."""
        return await self._run(routing.list_all(self._talks, routing.service_path(service, "assets"), kind=kind))

    async def asset(self, service: str, kind: str, name: str) -> str:
        """The content of an asset; ``kind`` is stylesheet, table, list, map, query, script, schema, dtd or jsonschema."""
        return await self._run(routing.load_asset(self._talks, service, kind, name))

    async def save_asset(
        self, service: str, kind: str, name: str, content: str, *, description: str | None = None
    ) -> dict[str, Any]:
        """Make the asset, or replace the one of its name, once the network has found it in order."""
        return await self._run(routing.save_asset(self._talks, service, kind, name, content, description))

    async def remove_asset(self, service: str, kind: str, name: str) -> None:
        await self._run(routing.remove_asset(self._talks, service, kind, name))

    async def release(self, service: str) -> Any:
        return await self.change("POST", routing.service_path(service, "release"))

    # ---- why a message goes its way

    async def explain(self, form: str = "json", **fields: Unpack[MessageFields]) -> Any:
        """Return how a message would be routed; nothing is sent. ``form`` is json, text or svg."""
        return await self.explain_message(message(**fields), form)

    async def explain_message(self, prepared: Message, form: str = "json") -> Any:
        return await self._run(self._talks.ask(routing.explain(prepared, form), routing.parse_explanation))

    async def explanation(self, session: str, form: str = "json") -> Any:
        """Return how a posted message was routed, and why."""
        return await self._run(self._talks.ask(routing.explanation(session, form), routing.parse_explanation))

    async def try_out(self, **wish: Any) -> Any:
        """Try a rule, condition, stylesheet or schema on a message; nothing is stored or sent."""
        return await self._run(self._talks.value(routing.build_trial(wish)))

    # ---- exchanges

    @property
    def bindings(self) -> AsyncBindings:
        """The bindings API: create, list, try and remove bindings."""
        return AsyncBindings(self._talks, self._run)

    @property
    def models(self) -> AsyncModels:
        """The models API: read, change and import trees, attach services, and find receivers."""
        return AsyncModels(self._talks, self._run)

    # ---- what leaves together, and what failed

    @property
    def batches(self) -> AsyncBatches:
        return AsyncBatches(self._talks, self._run)

    @property
    def billing(self) -> AsyncBilling:
        return AsyncBilling(self._talks, self._run)

    @property
    def dead_letters(self) -> AsyncDeadLetters:
        """The dead letters API: list, resend and drop messages that failed."""
        return AsyncDeadLetters(self._talks, self._run)

    # ---- trust

    async def confirm_provisioning(self, gcid: str, token: str, cookie: Any = None) -> None:
        await self._run(
            provisioning.send_and_wait(
                self._talks, provisioning.build_confirmation(gcid, token, cookie), gcid=gcid, then="active"
            )
        )

    async def inspect_provisioning(self, gcid: str, token: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.change("POST", provisioning.inspection_path(gcid), {"token": token})
        return found

    async def revoke_provisioning(self, gcid: str) -> None:
        await self._run(
            provisioning.send_and_wait(self._talks, provisioning.build_revocation(gcid), gcid=gcid, then="revoked")
        )

    async def register_cookie(self, sender: str, cookie: Any) -> None:
        await self._run(provisioning.send_and_wait(self._talks, provisioning.build_registration(sender, cookie)))

    async def begin_provisioning(
        self, organization: str, provider: str, service: str, *, return_path: str = ""
    ) -> dict[str, Any]:
        wish = {"provider": provider, "service": service, "returnPath": return_path}
        begun: dict[str, Any] = await self.change("POST", provisioning.provisionings_path(organization), wish)
        return begun

    async def provisionings(self, organization: str) -> list[dict[str, Any]]:
        return await self.every(provisioning.provisionings_path(organization))

    async def end_provisioning(self, service: str) -> None:
        await self.change("DELETE", provisioning.provisioning_path(service))

    async def cookies(self, service: str) -> list[dict[str, Any]]:
        return await self.every(routing.service_path(service, "cookies"))

    async def set_cookie(
        self, service: str, sender: str, content: str, *, content_type: str = "text/plain"
    ) -> dict[str, Any]:
        wish = {"content": content, "contentType": content_type}
        saved: dict[str, Any] = await self.change("PUT", provisioning.cookie_path(service, sender), wish)
        return saved

    async def remove_cookie(self, service: str, sender: str) -> None:
        await self.change("DELETE", provisioning.cookie_path(service, sender))

    # ---- carrying it out

    async def _run(self, talk: Talk[_Value], function: Function | None = None) -> _Value:
        try:
            step = next(talk)
            while True:
                try:
                    came = await self._carry_out(step, function)
                except Interrupted as interrupted:
                    step = talk.throw(interrupted)
                else:
                    step = talk.send(came)
        except StopIteration as end:
            value: _Value = end.value
            return value

    async def _carry_out(self, step: ConversationStep, function: Function | None) -> StepResult:
        match step:
            case ApiRequest():
                return await self._perhaps_interrupted(self._send(step), function, step.interruptible)
            case RetryPause():
                return await self._perhaps_interrupted(asyncio.sleep(step.seconds), function, step.interruptible)
            case FunctionCall() if function is not None:
                return await call_function(function, step.message)
        raise TypeError(f"there is no function to call with {step!r}")

    async def _perhaps_interrupted(
        self, work: Coroutine[Any, Any, _Value], function: Function | None, interruptible: bool
    ) -> _Value:
        if function is not None and interruptible:
            return await self._stopping.unless_asked(work)
        return await work

    async def _send(self, request: ApiRequest) -> ApiResponse | NoResponse:
        headers = dict(requests.add_authorization(request, self.access.authorization))
        timeout = httpx2.Timeout(self._timeout_s, read=self._timeout_s + request.wait_s)
        try:
            answer = await self._http.request(
                request.method, request.path, headers=headers, content=request.body, timeout=timeout
            )
        except httpx2.TransportError as error:
            return describe_no_response(error, self.access.url)
        return ApiResponse(status=answer.status_code, headers=dict(answer.headers), body=answer.content)


async def call_function(function: Function, delivered: Received) -> FunctionReturned | FunctionRaised:
    try:
        value: Awaitable[Any] | Any = function(delivered)
        return FunctionReturned(await value if isawaitable(value) else value)
    except Exception as error:  # the loop must outlive whatever its user's function does
        return FunctionRaised(error)
