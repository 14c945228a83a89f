"""What a program is told when something other than a network answers, or nothing whole does."""

from __future__ import annotations

import copy
import pickle
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from postroad.client import Access, AsyncClient, Client, Refused, Unavailable, message, routing
from postroad.client.connection_errors import describe_no_response
from postroad.client.conversations import Conversations
from postroad.client.responses import build_error
from postroad.client.steps import ApiResponse, Talk
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Misconfigured, PostroadError
from tests.unit.client.scripted import Script, conversations, ok

Asked = Callable[[Conversations], Talk[Any]]
ASKED: dict[str, Asked] = {
    "post": lambda talks: talks.post(message(to="A/B")),
    "post_many": lambda talks: talks.post_many([message(to="A/B")], lambda done: None),
    "poll": lambda talks: talks.poll(PollRequest()),
    "settle": lambda talks: talks.settle(Settlement(tokens=("t",))),
    "list": lambda talks: routing.list_all(talks, "/v1/services"),
}


@pytest.mark.req("K1")
@pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))
@pytest.mark.parametrize("page", [b"<html>secret proxy page</html>", b"[]", b"\xff"], ids=["html", "list", "bytes"])
def test_a_page_of_somebody_else_is_no_answer_and_never_a_refusal(asked: Asked, page: bytes) -> None:
    with pytest.raises(Unavailable, match=r"answer\.unreadable.*is this the address of a postroad network") as caught:
        Script([ApiResponse(status=200, body=page)]).play(asked(conversations()))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("asked", ["inf", "nan", "1e999", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_is_no_number_of_seconds_means_soon(asked: str) -> None:
    busy = ApiResponse(status=503, headers={"retry-after": asked})
    script = Script([busy, ok({"session": "s", "transaction": "s"})])
    script.play(conversations().post(message(to="A/B")))
    assert script.pauses_s == [1.2]
    with pytest.raises(Unavailable) as caught:
        Script([busy]).play(conversations(tries=1).post(message(to="A/B")))
    assert caught.value.retry_after_s == 1


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the host does not exist"),
        (ssl.SSLError(1, "record layer failure"), "http://"),
        (ConnectionResetError(104, "reset"), "closed before the complete response"),
        (ConnectionRefusedError(111, "refused"), "connection refused"),
    ],
)
def test_why_no_answer_came_is_said_in_words(cause: OSError, words: str) -> None:
    error = httpx2.ConnectError("it failed")
    error.__cause__ = cause
    assert words in describe_no_response(error, "http://127.0.0.1:1").reason
    assert not describe_no_response(error, "http://127.0.0.1:1").was_sent
    broken = describe_no_response(httpx2.RemoteProtocolError("Server disconnected"), "")
    assert ("closed before the complete response" in broken.reason, broken.was_sent) == (True, True)


@pytest.mark.parametrize("url", ["127.0.0.1:8470", "localhost", "ftp://x", "http://[bad", "http://x:99999", "http://"])
def test_what_is_no_address_is_refused_before_anything_is_tried(url: str) -> None:
    with pytest.raises(Misconfigured, match="write it like http://127"):
        Client(url, "pr_x")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"\n", b"pr_one\npr_two\n", "pr_ä".encode()])
def test_a_key_file_without_one_key_in_it_is_refused_and_not_quoted(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.key"
    file.write_bytes(content)
    with pytest.raises(Misconfigured) as caught:
        Access.found_in({}, key_file=file)
    assert "key" in str(caught.value)
    assert "pr_" not in str(caught.value)


def test_a_key_may_have_white_space_around_it() -> None:
    assert Access.found_in({}, key=" pr_x\n").authorization == "Bearer pr_x"


@pytest.mark.parametrize(
    "error",
    [
        Refused("recipient.unknown", "look it up", pointer="/to/0", session="s"),
        Unavailable("network.busy", "later", retry_after_s=7),
        Misconfigured(["one", "two"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_pass_whole_from_process_to_process(error: PostroadError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_client_without_a_key_is_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POSTROAD_KEY", "POSTROAD_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    for kind in (Client, AsyncClient):
        with pytest.raises(Misconfigured, match="no key: pass key or key_file"):
            kind("http://127.0.0.1:8470")
    Client("http://127.0.0.1:8470", tls=ssl.create_default_context()).close()  # a client certificate may be its proof


def test_an_answer_that_never_came_names_the_address() -> None:
    error = build_error(describe_no_response(httpx2.ConnectError("it failed"), "http://127.0.0.1:9"))
    assert "No response from http://127.0.0.1:9 (" in str(error)
