"""What each answer means: a value of the model, or an error that says whose turn it is.

``Refused`` when the network said no for good, ``Unavailable`` when the same request may succeed later. An answer that is not
postroad's own (a proxy's page, say) is reported with its status and never with its text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from postroad.client import histories
from postroad.client.exchange import Lost, Outcome, Response
from postroad.client.received import Received, received
from postroad.client.retrying import LATER
from postroad.core.audit.story import History
from postroad.core.codecs.bulk import decode_bulk_answer
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.model.message import PostResult
from postroad.core.model.polling import SettlementResult
from postroad.errors import PostroadError, Refused, Unavailable

# The network keeps its own limits when posts come in; a client takes what it is handed.
GENEROUS = WireLimits(body_bytes=1 << 31, json_depth=512, text_chars=1 << 20, parts=10_000, properties=10_000)

_Value = TypeVar("_Value")


def posted(outcome: Outcome) -> PostResult:
    return _read(outcome, lambda body: JSON_FORM.decode_result(body, GENEROUS))


def posted_many(outcome: Outcome) -> list[PostResult | Refused]:
    return _read(outcome, lambda body: decode_bulk_answer(ENVELOPES, body))


def polled(outcome: Outcome) -> list[Received]:
    return [received(message) for message in _read(outcome, lambda body: JSON_FORM.decode_delivered(body, GENEROUS))]


def settled(outcome: Outcome) -> SettlementResult:
    return _read(outcome, lambda body: JSON_FORM.decode_settlement_result(body, GENEROUS))


def value(outcome: Outcome) -> Any:
    """The JSON of a resource; None when the answer has no content."""
    return _read(outcome, lambda body: msgspec.json.decode(body) if body else None)


def value_as(outcome: Outcome, kind: type[_Value]) -> _Value:
    """The JSON of a resource in the shape of one of the model's types."""
    return _read(outcome, lambda body: msgspec.json.decode(body, type=kind, strict=False))


def _read(outcome: Outcome, decode: Callable[[bytes], _Value]) -> _Value:
    """What a good answer says. One that cannot be read says nothing at all: never that the network refused something."""
    body = answered(outcome).body
    try:
        return decode(body)
    except (Refused, msgspec.DecodeError, UnicodeDecodeError) as error:
        detail = (
            "The answer could not be read; is this the address of a postroad network, and of one as new as this client?"
        )
        raise Unavailable("answer.unreadable", detail) from error


def history(outcome: Outcome) -> History:
    return histories.history(value_as(outcome, histories.HistoryShape))


def answered(outcome: Outcome) -> Response:
    """The response if it reports success; raises what it reports otherwise."""
    if isinstance(outcome, Response) and 200 <= outcome.status < 300:
        return outcome
    raise error_of(outcome)


def error_of(outcome: Outcome) -> PostroadError:
    if isinstance(outcome, Lost):
        where = outcome.url or "the network"
        detail = f"No answer from {where} ({outcome.reason}); check the address and that the network is running"
        return Unavailable("network.unreachable", detail)
    problem = _problem(outcome)
    if outcome.status in LATER or outcome.status >= 500:
        return Unavailable(problem.code, problem.words, retry_after_s=max(1, round(outcome.retry_after_s)))
    return Refused(problem.code, problem.words, pointer=problem.pointer, session=problem.session)


class _Place(Struct):
    detail: str
    pointer: str = ""
    parameter: str = ""


class _Problem(Struct):
    """What a client needs of an RFC 9457 problem."""

    detail: str
    code: str
    pointer: str = ""
    session: str = ""
    errors: tuple[_Place, ...] = ()

    @property
    def words(self) -> str:
        """The detail, and every place that is at fault on a line of its own when there are several."""
        places = [f"{place.pointer or place.parameter}: {place.detail}" for place in self.errors]
        return self.detail if places in ([], [self.detail]) else "\n  ".join([self.detail, *places])


def _problem(response: Response) -> _Problem:
    try:
        return msgspec.json.decode(response.body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = f"HTTP status {response.status} without an explanation; is this the address of a postroad network?"
        return _Problem(detail, "answer.unreadable")
