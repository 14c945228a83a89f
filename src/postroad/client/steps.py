"""The steps that conversations yield (send, pause, call) and their results.

A ``Response`` is any answer; ``NoResponse`` means that none arrived, so it is unknown whether the request was carried
out.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeVar

from postroad.client.received_message import Received

TIMEOUT_S = 30.0  # for a response, besides the time that a long poll may wait
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """An HTTP request to the API."""

    method: str
    path: str
    headers: Headers = ()
    body: bytes = b""
    wait_s: float = 0.0  # how long the network may take its time on purpose (long polling)
    interruptible: bool = False  # giving it up halfway loses nothing
    doubles: bool = False  # done twice when it is asked for twice, and nothing in it tells the network so


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResponse:
    """An HTTP response, whatever its status."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""

    @property
    def retry_after_s(self) -> float:
        try:
            asked_s = float(self.headers.get("retry-after", "0"))
        except ValueError:
            return 1.0  # a date: rare, and not worth a clock
        return max(0.0, asked_s) if isfinite(asked_s) else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoResponse:
    """No response: the connection was refused, cut or timed out."""

    reason: str
    url: str = ""  # where the request was sent
    was_sent: bool = True  # it may have been carried out


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPause:
    """Wait before the next step."""

    seconds: float
    interruptible: bool = False


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """Call the user's function with this message."""

    message: Received


@dataclass(frozen=True, slots=True)
class FunctionReturned:
    """The return value of the user's function."""

    value: Any


@dataclass(frozen=True, slots=True)
class FunctionRaised:
    """The exception of the user's function."""

    error: Exception


class Interrupted(BaseException):
    """Raised in a conversation whose wait was interrupted; not an Exception, so that it is not swallowed."""


RequestOutcome = ApiResponse | NoResponse
ConversationStep = ApiRequest | RetryPause | FunctionCall
StepResult = ApiResponse | NoResponse | FunctionReturned | FunctionRaised | None

_Value = TypeVar("_Value")
Talk = Generator[ConversationStep, StepResult, _Value]  # a conversation that ends with a value
