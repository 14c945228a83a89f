"""Runs conversations with asyncio: sends requests, waits, and calls the function of a consumer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, Protocol, TypeVar

import httpx2

from postroad.client import requests
from postroad.client.access import Access
from postroad.client.connection_errors import describe_no_response
from postroad.client.received_message import Received
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

_Value = TypeVar("_Value")
Function = Callable[[Received], Any]  # may be a coroutine function


class AsyncRunConversation(Protocol):
    """Runs one conversation to its end, like ``AsyncConversationRunner.run``."""

    def __call__(self, talk: Talk[_Value]) -> Awaitable[_Value]: ...


class AsyncConversationRunner:
    """Carries the steps of conversations out, over one pool of connections."""

    def __init__(self, access: Access, timeout_s: float, tls: ssl.SSLContext | None) -> None:
        self.stopping = AsyncStopping()
        self._access = access
        self._timeout_s = timeout_s
        self._http = httpx2.AsyncClient(base_url=access.url, verify=tls if tls is not None else True)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def run(self, talk: Talk[_Value], function: Function | None = None) -> _Value:
        """Return the value with which the conversation ends; ``function`` makes its waits stoppable."""
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
            return await self.stopping.unless_asked(work)
        return await work

    async def _send(self, request: ApiRequest) -> ApiResponse | NoResponse:
        headers = dict(requests.add_authorization(request, self._access.authorization))
        timeout = httpx2.Timeout(self._timeout_s, read=self._timeout_s + request.wait_s)
        try:
            answer = await self._http.request(
                request.method, request.path, headers=headers, content=request.body, timeout=timeout
            )
        except httpx2.TransportError as error:
            return describe_no_response(error, self._access.url)
        return ApiResponse(status=answer.status_code, headers=dict(answer.headers), body=answer.content)


async def call_function(function: Function, delivered: Received) -> FunctionReturned | FunctionRaised:
    """Call the function of a consumer, and await its result if it is a coroutine function."""
    try:
        value: Awaitable[Any] | Any = function(delivered)
        return FunctionReturned(await value if isawaitable(value) else value)
    except Exception as error:  # the loop must outlive whatever its user's function does
        return FunctionRaised(error)
