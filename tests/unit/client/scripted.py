"""A shell for conversations without a network: plays outcomes from a list and keeps what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, TypeVar

import msgspec

from postroad.client.conversations import Conversations
from postroad.client.retries import Retrying
from postroad.client.steps import (
    ApiRequest,
    ApiResponse,
    ConversationStep,
    FunctionCall,
    FunctionRaised,
    FunctionReturned,
    NoResponse,
    RequestOutcome,
    RetryPause,
    StepResult,
    Talk,
)
from postroad.core.model.message import Delivered, MessageType, Part

_Value = TypeVar("_Value")
LOST = NoResponse(reason="ConnectError")


def conversations(**retrying: Any) -> Conversations:
    numbers = count(1)
    return Conversations(retrying=Retrying(**retrying), jitter=lambda: 1.0, fresh_key=lambda: f"key-{next(numbers)}")


class Script:
    """Answers requests one after the other; calls go to ``function``."""

    def __init__(
        self, outcomes: Iterable[RequestOutcome], function: Callable[[Delivered], Any] = lambda message: None
    ) -> None:
        self._outcomes = iter(outcomes)
        self._function = function
        self.steps: list[ConversationStep] = []

    @property
    def requests(self) -> list[ApiRequest]:
        return [step for step in self.steps if isinstance(step, ApiRequest)]

    @property
    def pauses_s(self) -> list[float]:
        return [step.seconds for step in self.steps if isinstance(step, RetryPause)]

    def play(self, talk: Talk[_Value]) -> _Value:
        came: StepResult = None
        try:
            while True:
                step = talk.send(came)
                self.steps.append(step)
                came = self._came(step)
        except StopIteration as end:
            value: _Value = end.value
            return value

    def _came(self, step: ConversationStep) -> StepResult:
        if isinstance(step, ApiRequest):
            return next(self._outcomes)
        if isinstance(step, FunctionCall):
            try:
                return FunctionReturned(self._function(step.message))
            except ValueError as error:
                return FunctionRaised(error)
        return None


def ok(value: Any, status: int = 200) -> ApiResponse:
    return ApiResponse(status=status, body=msgspec.json.encode(value))


def problem(status: int, code: str, **more: Any) -> ApiResponse:
    body = {"type": "", "title": "", "status": status, "detail": "what to do next", "code": code}
    headers = {"retry-after": str(more.pop("retry_after"))} if "retry_after" in more else {}
    return ApiResponse(status=status, headers=headers, body=msgspec.json.encode(body | more))


def delivered(number: int = 1, **more: Any) -> Delivered:
    fields: dict[str, Any] = {
        "session": f"session-{number}",
        "token": f"token-{number}",
        "transaction": f"session-{number}",
        "sender": "MyBiz/Purchasing",
        "sender_gcid": "00" * 8,
        "recipient": "TheAcmeCompany/Supply",
        "recipient_gcid": "11" * 8,
        "type": MessageType.NOTIFICATION,
        "topic": "",
        "handle": "",
        "arguments": (),
        "reference": None,
        "invoker": "",
        "status": None,
        "properties": (),
        "posted_at_us": 1,
        "expires_at_us": 0,
        "attempt": 1,
        "in_transit": False,
        "parts": (Part(id="1", content_type="text/plain", data=b"hello"),),
    }
    return Delivered(**(fields | more))
