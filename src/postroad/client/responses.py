"""Parse each API response: a model value, or Refused or Unavailable.

``Refused`` is final; after ``Unavailable`` the same request may succeed later. An answer that is not from postroad (a
proxy's page, for example) is reported with its status and never with its text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from postroad.client.received_message import Received, to_received
from postroad.client.retries import LATER
from postroad.client.steps import ApiResponse, NoResponse, RequestOutcome
from postroad.core.codecs.bulk import decode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.model.message import PostResult
from postroad.core.model.polling import SettlementResult
from postroad.core.resources.histories import Trace
from postroad.errors import PostroadError, Refused, Unavailable

# The network keeps its own limits when posts come in; a client takes what it is handed.
GENEROUS = WireLimits(body_bytes=1 << 31, json_depth=512, text_chars=1 << 20, parts=10_000, properties=10_000)

_Value = TypeVar("_Value")


def parse_post(outcome: RequestOutcome) -> PostResult:
    return _read(outcome, lambda body: JSON_FORM.decode_result(body, GENEROUS))


def parse_posts(outcome: RequestOutcome) -> list[PostResult | Refused]:
    return _read(outcome, lambda body: decode_bulk_answer(ENVELOPES, body))


def parse_poll(outcome: RequestOutcome) -> list[Received]:
    return [to_received(message) for message in _read(outcome, lambda body: JSON_FORM.decode_delivered(body, GENEROUS))]


def parse_settlement(outcome: RequestOutcome) -> SettlementResult:
    return _read(outcome, lambda body: JSON_FORM.decode_settlement_result(body, GENEROUS))


def parse_value(outcome: RequestOutcome) -> Any:
    """Return the JSON of a resource; None for an empty response."""
    return _read(outcome, lambda body: msgspec.json.decode(body) if body else None)


def parse_as(outcome: RequestOutcome, kind: type[_Value]) -> _Value:
    """Return the JSON of a resource, decoded as its type."""
    return _read(outcome, lambda body: msgspec.json.decode(body, type=kind, strict=False))


def parser(kind: type[_Value]) -> Callable[[RequestOutcome], _Value]:
    """Return the function that decodes a resource of this type."""
    return lambda outcome: parse_as(outcome, kind)


def _read(outcome: RequestOutcome, decode: Callable[[bytes], _Value]) -> _Value:
    """Decode a successful response; one that cannot be decoded is Unavailable, never Refused."""
    body = require_success(outcome).body
    try:
        return decode(body)
    except (Refused, msgspec.DecodeError, UnicodeDecodeError) as error:
        detail = "The response could not be read; is this the address of a postroad network, as new as this client?"
        raise Unavailable("answer.unreadable", detail) from error


def parse_history(outcome: RequestOutcome) -> Trace:
    return parse_as(outcome, Trace)


def require_success(outcome: RequestOutcome) -> ApiResponse:
    """Return a successful response; raises the error it reports otherwise."""
    if isinstance(outcome, ApiResponse) and 200 <= outcome.status < 300:
        return outcome
    raise build_error(outcome)


def build_error(outcome: RequestOutcome) -> PostroadError:
    if isinstance(outcome, NoResponse):
        where = outcome.url or "the network"
        detail = f"No response from {where} ({outcome.reason}); check the address and that the network is running"
        return Unavailable("network.unreachable", detail)
    problem = _problem(outcome)
    if outcome.status in LATER or outcome.status >= 500:
        return Unavailable(problem.code, problem.words, retry_after_s=max(1, round(outcome.retry_after_s)))
    return Refused(problem.code, problem.words, pointer=problem.pointer, session=problem.session)


class _ProblemPlace(Struct):
    detail: str
    pointer: str = ""
    parameter: str = ""


class _Problem(Struct):
    """The fields of an RFC 9457 problem that a client needs."""

    detail: str
    code: str
    pointer: str = ""
    session: str = ""
    errors: tuple[_ProblemPlace, ...] = ()

    @property
    def words(self) -> str:
        """Return the detail, and each of several errors on its own line."""
        places = [f"{place.pointer or place.parameter}: {place.detail}" for place in self.errors]
        return self.detail if places in ([], [self.detail]) else "\n  ".join([self.detail, *places])


def _problem(response: ApiResponse) -> _Problem:
    try:
        return msgspec.json.decode(response.body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = f"HTTP status {response.status} without an explanation; is this the address of a postroad network?"
        return _Problem(detail, "answer.unreadable")
