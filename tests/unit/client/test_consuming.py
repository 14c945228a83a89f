"""The consumer's loop: what happens to a message after the user's function returned or raised."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from postroad.client import Delivered, MessageType, Part, Received, Reply, Status
from postroad.client.blocking.runner import call_function
from postroad.client.consumer import ConsumerPace, build_answer, consume, describe_error
from postroad.client.received_message import to_received
from postroad.client.steps import ApiRequest, ApiResponse, FunctionRaised, Interrupted, RequestOutcome
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Property, PropertyType
from postroad.core.model.polling import PollRequest
from tests.unit.client.scripted import Script, conversations, delivered, ok, problem

SETTLED = ok({"settled": []})
POSTED = ok({"session": "answer", "transaction": "t"}, 202)


def handed_out(*messages: Delivered) -> ApiResponse:
    return ApiResponse(status=200, body=JSON_FORM.encode_delivered(messages))


class Day:
    """A consumer that stops after as many questions whether to stop as it takes to handle one batch."""

    def __init__(self, *outcomes: RequestOutcome, batches: int = 1, lease_s: float = 0.0) -> None:
        self._outcomes = outcomes
        self._lease_s = lease_s
        self.now_s = 0.0
        self._batches = batches
        self.script: Script

    def work(self, function: Any, stop_after: int | None = None) -> int:
        handled: list[str] = []

        def seen(message: Delivered) -> Any:
            handled.append(message.session)
            return function(message)

        self.script = Script(self._outcomes, seen)

        def stopped() -> bool:
            polled = sum(request.path == "/v1/poll" for request in self.script.requests)
            if stop_after is not None and len(handled) >= stop_after:
                return True
            return polled >= self._batches and len(handled) >= self._all

        return self.script.play(
            consume(conversations(), PollRequest(lease_s=self._lease_s), stopped, lambda: self.now_s)
        )

    @property
    def _all(self) -> int:
        return sum(len(JSON_FORM.decode_delivered(o.body)) for o in self._polls)

    @property
    def _polls(self) -> list[ApiResponse]:
        return [o for o in self._outcomes if isinstance(o, ApiResponse) and b'"messages"' in o.body]

    def sent(self, path: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(request.body) for request in self.script.requests if request.path == path]


@pytest.mark.req("K1")
def test_a_message_is_acknowledged_after_the_function_returned() -> None:
    day = Day(handed_out(delivered(1), delivered(2)), SETTLED, SETTLED)
    assert day.work(lambda message: None) == 2
    assert [what["tokens"] for what in day.sent("/v1/ack")] == [["token-1"], ["token-2"]]
    kinds = [step.path if isinstance(step, ApiRequest) else type(step).__name__ for step in day.script.steps]
    assert kinds == ["/v1/poll", "FunctionCall", "/v1/ack", "FunctionCall", "/v1/ack"]


def test_what_the_function_returns_is_the_reply_to_a_request() -> None:
    day = Day(handed_out(delivered(1, type=MessageType.REQUEST)), POSTED)
    day.work(lambda message: "<Confirmed/>")
    [reply] = day.sent("/v1/messages")
    assert (reply["type"], reply["reference"]) == ("response", "token-1")
    assert reply["documents"][0]["text"] == "<Confirmed/>"
    assert day.sent("/v1/ack") == []


def test_a_notification_is_acknowledged_whatever_the_function_returns() -> None:
    day = Day(handed_out(delivered(1)), SETTLED)
    day.work(lambda message: "nobody asked")
    assert day.sent("/v1/messages") == []
    assert len(day.sent("/v1/ack")) == 1


def test_a_request_may_be_answered_later() -> None:
    day = Day(handed_out(delivered(1, type=MessageType.REQUEST)), SETTLED)
    day.work(lambda message: None)
    assert len(day.sent("/v1/ack")) == 1


@pytest.mark.req("K1")
def test_a_service_in_transit_lets_a_message_go_on_changed_or_not() -> None:
    day = Day(handed_out(delivered(1, in_transit=True), delivered(2, in_transit=True)), POSTED, POSTED)
    day.work(lambda message: "<Changed/>" if message.session == "session-1" else None)
    changed, unchanged = day.sent("/v1/messages")
    assert changed["documents"][0]["text"] == "<Changed/>"
    assert (unchanged["reference"], unchanged.get("documents")) == ("token-2", None)


@pytest.mark.req("K1")
def test_one_changed_document_takes_the_place_of_the_first_and_the_rest_goes_on() -> None:
    parts = (
        Part(id="order", content_type="application/vnd.order+json", data=b"{}"),
        Part(id="note", content_type="text/plain", data=b"hi"),
        Part(id="photo", content_type="image/png", data=b"x", attachment=True),
    )
    transit = delivered(1, in_transit=True, parts=parts)
    assert build_answer(transit, {"a": 1}).parts == (
        Part(id="order", content_type="application/vnd.order+json", data=b'{"a":1}'), *parts[1:],
    )  # fmt: skip
    assert build_answer(transit, "now text").parts[0].content_type == "text/plain; charset=utf-8"
    assert build_answer(transit, None).parts == ()
    whole = build_answer(transit, Reply(documents=["<A/>"], properties={"checked": True}))
    assert [part.id for part in whole.parts] == ["order", "photo"], "a Reply says which documents there are"
    assert whole.properties == (Property("checked", "true", PropertyType.BOOLEAN),)
    assert build_answer(delivered(1, parts=parts), {"a": 1}).parts == (
        Part(id="1", content_type="application/json", data=b'{"a":1}'),
    )  # fmt: skip


def test_a_failure_can_be_reported_as_a_status() -> None:
    day = Day(handed_out(delivered(1, type=MessageType.REQUEST)), POSTED)
    day.work(lambda message: Reply(status=Status("out-of-stock", "Try again on Monday")))
    assert day.sent("/v1/messages")[0]["status"] == {"code": "out-of-stock", "text": "Try again on Monday"}


@pytest.mark.parametrize(("attempt", "delay_s"), [(1, 1.0), (4, 8.0), (50, 300.0)])
def test_an_exception_gives_the_message_back_later_and_later(attempt: int, delay_s: float) -> None:
    def fail(message: Delivered) -> None:
        raise ValueError("secret of the receiver")

    day = Day(handed_out(delivered(1, attempt=attempt)), SETTLED)
    assert day.work(fail) == 1
    [back] = day.sent("/v1/ack")
    assert back == {"tokens": ["token-1"], "outcome": "nack", "delaySeconds": delay_s, "reason": "ValueError"}


def test_a_reply_that_is_refused_gives_the_message_back_and_goes_on() -> None:
    request = delivered(1, type=MessageType.REQUEST)
    day = Day(handed_out(request, delivered(2)), problem(413, "wire.too-large"), SETTLED, SETTLED)
    assert day.work(lambda message: "huge") == 2
    assert [what.get("outcome", "ack") for what in day.sent("/v1/ack")] == ["nack", "ack"]


def test_an_acknowledgement_that_fails_does_not_end_the_loop() -> None:
    day = Day(handed_out(delivered(1), delivered(2)), problem(404, "token.unknown"), SETTLED)
    assert day.work(lambda message: None) == 2


def test_what_was_not_begun_when_stopping_is_given_back_at_once() -> None:
    day = Day(handed_out(delivered(1), delivered(2), delivered(3)), SETTLED, SETTLED)
    assert day.work(lambda message: None, stop_after=1) == 1
    acknowledged, back = day.sent("/v1/ack")
    assert acknowledged["tokens"] == ["token-1"]
    assert (back["tokens"], back["outcome"], back.get("delaySeconds", 0)) == (["token-2", "token-3"], "nack", 0)


def test_a_wait_that_is_broken_off_ends_the_loop_with_its_count() -> None:
    talk = consume(conversations(), PollRequest(wait_s=20), lambda: False, lambda: 0.0)
    assert isinstance(next(talk), ApiRequest)
    with pytest.raises(StopIteration) as end:
        talk.throw(Interrupted())
    assert end.value.value == 0


@pytest.mark.req("K1")
def test_a_value_that_cannot_be_sent_gives_the_message_back_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    request = delivered(1, type=MessageType.REQUEST)
    day = Day(handed_out(request, delivered(2)), SETTLED, SETTLED)
    assert day.work(lambda message: object()) == 2
    assert [what.get("outcome", "ack") for what in day.sent("/v1/ack")] == ["nack", "ack"]
    assert "session-1: the function returned a object that cannot be sent" in caplog.text


@pytest.mark.req("K1")
def test_what_would_outlast_its_lease_is_left_to_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else may have it by then, and it would be handled twice."""
    again = handed_out(delivered(3, attempt=2))
    day = Day(handed_out(delivered(1), delivered(2), delivered(3)), SETTLED, SETTLED, again, SETTLED, lease_s=31.0)

    def slow(message: Delivered) -> None:
        day.now_s += 15.0

    assert day.work(slow, stop_after=3) == 3
    paths = [request.path for request in day.script.requests]
    assert paths == ["/v1/poll", "/v1/ack", "/v1/ack", "/v1/poll", "/v1/ack"]
    assert [poll.get("max", 10) for poll in day.sent("/v1/poll")] == [10, 2], "it takes what it comes to"
    assert "1 of 3 messages could not be begun within their lease of 31 s" in caplog.text


def test_who_is_quick_again_takes_more_again() -> None:
    now = [0.0]
    pace = ConsumerPace(PollRequest(max=5, lease_s=10.0), lambda: now[0])
    asked = []
    for each_s in (12.0, 1.0, 1.0, 1.0, 3.0):
        asked.append(pace.polling().max)
        pace.handed_out()
        for _ in range(asked[-1]):
            if pace.has_time():
                now[0] += each_s
                pace.record_message()
        pace.settle_on(asked[-1])
    assert (asked, pace.polling().max) == ([5, 1, 2, 4, 5], 3)
    pace.handed_out()
    pace.settle_on(0)
    assert pace.polling().max == 3, "nothing to do says nothing of how quick one is"


def test_without_a_lease_of_its_own_a_consumer_always_goes_on() -> None:
    times = iter(range(0, 10_000, 1000))
    pace = ConsumerPace(PollRequest(max=5), lambda: float(next(times)))
    pace.handed_out()
    assert pace.has_time()
    pace.record_message()
    assert pace.has_time()
    pace.settle_on(1)
    assert pace.polling().max == 5


def test_the_line_that_failed_is_told_and_what_it_said_is_not() -> None:
    def fail(message: Received) -> None:
        raise ValueError("secret of the receiver")

    raised = call_function(fail, to_received(delivered(1)))
    assert isinstance(raised, FunctionRaised)
    line = fail.__code__.co_firstlineno + 1
    assert describe_error(raised.error) == f"ValueError ({__file__}, line {line})"


def test_an_acknowledgement_that_came_too_late_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    late = {"token": "token-1", "code": "token.unknown", "detail": "somebody else has it"}
    Day(handed_out(delivered(1)), ok({"settled": [late]})).work(lambda message: None)
    assert "session-1: could not be acknowledged: somebody else has it" in caplog.text
