"""Runs conversations one step at a time: sends requests, waits, and calls the function of a consumer."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
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
from postroad.client.stop_signals import Stopping

_Value = TypeVar("_Value")
Function = Callable[[Received], Any]


class RunConversation(Protocol):
    """Runs one conversation to its end, like ``ConversationRunner.run``."""

    def __call__(self, talk: Talk[_Value]) -> _Value: ...


class ConversationRunner:
    """Carries the steps of conversations out, over one pool of connections."""

    def __init__(self, access: Access, timeout_s: float, tls: ssl.SSLContext | None) -> None:
        self.stopping = Stopping()
        self._access = access
        self._timeout_s = timeout_s
        self._http = httpx2.Client(base_url=access.url, verify=tls if tls is not None else True)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, talk: Talk[_Value], function: Function | None = None) -> _Value:
        """Return the value with which the conversation ends; ``function`` makes its waits stoppable."""
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

    def _carry_out(self, step: ConversationStep, function: Function | None) -> StepResult:
        match step:
            case ApiRequest():
                with self.stopping.interruptible(function is not None and step.interruptible):
                    return self._send(step)
            case RetryPause():
                (self.stopping.wait if function is not None and step.interruptible else time.sleep)(step.seconds)
                return None
            case FunctionCall() if function is not None:
                return call_function(function, step.message)
        raise TypeError(f"there is no function to call with {step!r}")

    def _send(self, request: ApiRequest) -> ApiResponse | NoResponse:
        headers = dict(requests.add_authorization(request, self._access.authorization))
        timeout = httpx2.Timeout(self._timeout_s, read=self._timeout_s + request.wait_s)
        try:
            answer = self._http.request(
                request.method, request.path, headers=headers, content=request.body, timeout=timeout
            )
        except httpx2.TransportError as error:
            return describe_no_response(error, self._access.url)
        return ApiResponse(status=answer.status_code, headers=dict(answer.headers), body=answer.content)


def call_function(function: Function, delivered: Received) -> FunctionReturned | FunctionRaised:
    """Call the function of a consumer."""
    try:
        return FunctionReturned(function(delivered))
    except Exception as error:  # the loop must outlive whatever its user's function does
        return FunctionRaised(error)
