"""What is tried again, after how long, and what is not."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from postroad.client import Refused, Unavailable, message, requests
from postroad.client.access import DEFAULT_URL, Access
from postroad.client.retries import Retrying
from postroad.client.steps import ApiResponse, NoResponse, RequestOutcome
from postroad.errors import Misconfigured
from tests.unit.client.scripted import LOST, Script, conversations, ok, problem

RESULT = {"session": "s", "transaction": "s"}
POST = message(to="A/B", document="x")


@pytest.mark.req("K1")
@pytest.mark.parametrize(
    "passing", [LOST, problem(503, "network.busy"), problem(429, "rate.exceeded"), problem(507, "storage.full")]
)
def test_what_passes_is_tried_again_under_the_same_key(passing: RequestOutcome) -> None:
    script = Script([passing, passing, ok(RESULT, 202)])
    assert script.play(conversations().post(POST)).session == "s"
    keys = {dict(request.headers)["Idempotency-Key"] for request in script.requests}
    assert keys == {"key-1"}
    assert script.pauses_s == [0.2, 0.4]


@pytest.mark.parametrize(
    ("method", "outcome", "asked"),
    [
        ("POST", LOST, 1),
        ("POST", problem(504, "gateway"), 1),
        ("POST", NoResponse(reason="connection refused", was_sent=False), 2),
        ("POST", problem(503, "network.busy"), 2),
        ("PUT", LOST, 2),
    ],
)
def test_what_would_be_done_twice_is_not_asked_again_in_doubt(method: str, outcome: RequestOutcome, asked: int) -> None:
    """A request to the operators, say, has nothing by which the network recognises the second one."""
    script = Script([outcome, ok({})])
    request = requests.change(method, "/v1/support", {}, doubles=method == "POST")
    with nullcontext() if asked == 2 else pytest.raises(Unavailable):
        script.play(conversations().value(request))
    assert len(script.requests) == asked


def test_a_refusal_is_final_and_says_why() -> None:
    refusal = problem(409, "message.duplicate", session="first", pointer="/handle")
    script = Script([refusal])
    with pytest.raises(Refused) as caught:
        script.play(conversations().post(POST))
    error = caught.value
    assert (error.code, error.detail, error.session, error.pointer) == (
        "message.duplicate",
        "what to do next",
        "first",
        "/handle",
    )
    assert script.pauses_s == []


def test_the_network_decides_the_least_wait() -> None:
    script = Script([problem(503, "network.busy", retry_after=7), ok(RESULT)])
    script.play(conversations().post(POST))
    assert script.pauses_s == [7.2]


def test_a_wait_beyond_patience_is_reported_instead() -> None:
    script = Script([problem(503, "network.unavailable", retry_after=3600)])
    with pytest.raises(Unavailable) as caught:
        script.play(conversations().post(POST))
    assert caught.value.retry_after_s == 3600


def test_wrong_credentials_are_not_tried_again_when_throttled() -> None:
    script = Script([problem(429, "authentication.throttled", retry_after=1)])
    with pytest.raises(Unavailable, match=r"authentication\.throttled"):
        script.play(conversations().post(POST))


def test_in_the_end_it_gives_up_and_says_that_nobody_answers() -> None:
    script = Script([LOST] * 3)
    with pytest.raises(Unavailable, match="check the address"):
        script.play(conversations(tries=3).post(POST))
    assert len(script.requests) == 3


def test_waits_grow_to_a_limit_and_are_spread() -> None:
    retrying = Retrying(first_s=1.0, most_s=8.0)
    assert [retrying.growing_s(tried, 1.0) for tried in range(1, 6)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert retrying.growing_s(3, 0.0) == 2.0


def test_an_answer_that_is_not_ours_is_not_quoted() -> None:
    script = Script([ApiResponse(status=404, body=b"<html>secret proxy page</html>")])
    with pytest.raises(Refused, match="is this the address of a postroad network") as caught:
        script.play(conversations().post(POST))
    assert "secret" not in str(caught.value)


def test_a_reply_whose_answer_was_lost_is_not_an_error() -> None:
    answered = problem(409, "reference.answered", session="the first answer")
    script = Script([LOST, answered])
    assert script.play(conversations().reply(POST)).session == "the first answer"
    with pytest.raises(Refused):
        Script([answered]).play(conversations().reply(POST))


def test_address_and_key_come_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("pr_secret\n")
    access = Access.found_in({"POSTROAD_URL": "https://network.example", "POSTROAD_KEY_FILE": str(file)})
    assert access == Access(url="https://network.example", authorization="Bearer pr_secret")
    assert "pr_secret" not in repr(access)
    assert Access.found_in({"POSTROAD_KEY": "other"}, key_file=file).authorization == "Bearer pr_secret"
    assert Access.found_in({}, key="k") == Access(url=DEFAULT_URL, authorization="Bearer k")
    with pytest.raises(Misconfigured, match=r"key file .* cannot be read"):
        Access.found_in({"POSTROAD_KEY_FILE": str(file) + ".absent"})


def test_a_password_travels_as_basic() -> None:
    access = Access.with_password("http://x", "A/B", "päss")
    assert access.authorization == "Basic QS9COnDDpHNz"
