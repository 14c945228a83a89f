"""Causes are read from the reasons that the network really gives, and letters fall into groups by them."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import pytest

from postroad.adapters.transport.no_answer import describe_error
from postroad.core.delivery.dead_letters import MEANING, Cause, cause_of, group_letters
from postroad.core.delivery.push_endpoints import target_at
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.retry_policy import GiveUp, decide_push
from postroad.core.model.directory import Push

PUSH = Push(url="https://acme.example/in", tries=3)


def given_up(answer: PushAnswer) -> str:
    judged = decide_push(answer, target_at(PUSH, 3), 0.5, 0)
    assert isinstance(judged, GiveUp)
    return judged.reason


@pytest.mark.parametrize("prefix", ["", "route.failed: "], ids=["plain", "of a journey"])
@pytest.mark.parametrize(
    ("status", "cause"),
    [(500, Cause.SERVER_ERROR), (503, Cause.SERVER_ERROR), (429, Cause.SERVER_ERROR), (302, Cause.REDIRECTED),
     (400, Cause.REFUSED), (401, Cause.REFUSED), (404, Cause.REFUSED)],
)  # fmt: skip
def test_what_the_receiver_answered(prefix: str, status: int, cause: Cause) -> None:
    assert cause_of(prefix + given_up(PushAnswer(status=status))) is cause


def _tls_error() -> ssl.SSLError:
    error = ssl.SSLError(1, "wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


def _certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "certificate has expired"
    return error


@pytest.mark.parametrize("prefix", ["", "route.failed: "])
@pytest.mark.parametrize(
    ("error", "cause"),
    [(ConnectionRefusedError(), Cause.UNREACHABLE), (ConnectionResetError(), Cause.NO_ANSWER),
     (TimeoutError(), Cause.NO_ANSWER), (OSError(113, "No route to host"), Cause.UNREACHABLE),
     (_tls_error(), Cause.TLS), (_certificate_error(), Cause.TLS)],
)  # fmt: skip
def test_why_there_was_no_answer(prefix: str, error: Exception, cause: Cause) -> None:
    fault = f"acme.example: {describe_error(error)}"
    assert cause_of(prefix + given_up(PushAnswer(status=None, fault=fault))) is cause


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("handed out 20 times without being acknowledged", Cause.NOT_ACKNOWLEDGED),
        ("route.failed: handed out 3 times without being acknowledged", Cause.NOT_ACKNOWLEDGED),
        ("route.failed: Stamps/Stamper answered no-ink the pad is dry", Cause.IN_TRANSIT),
        ("route.failed: Stamps/Stamper answered x handed out 3 times", Cause.IN_TRANSIT),
        ("route.failed: Stamps/Stamper answered down its press: nothing listens there", Cause.IN_TRANSIT),
        ("route.failed: Stamps/Stamper answered odd use push.url instead", Cause.IN_TRANSIT),
        ("route.failed: The response had no valid way back: nobody", Cause.MISROUTED),
        ("mediation.lossy: part 1: its id has no place in dime", Cause.NOT_WHOLE),
        ("route.failed: mediation.lossy: the property x has no place in cloudevents", Cause.NOT_WHOLE),
        ("interchange.malformed: interchange 1: byte 4: no (x12.isa)", Cause.INTERCHANGE),
        ("interchange.duplicate: interchange 1 of ACME came before", Cause.INTERCHANGE),
        ("route.loop: A/B occurs twice", Cause.MISROUTED),
        ("policy.transport: A/B asks for TLS", Cause.MISROUTED),
        ("acme.example leads to an address outside the public Internet (private); use a public one", Cause.ADDRESS_NOT_ALLOWED),
        ("acme.example may not be pushed to without TLS; use https", Cause.ADDRESS_NOT_ALLOWED),
        ("acme.example cannot be pushed to: the host does not exist, or its address", Cause.ADDRESS_NOT_ALLOWED),
        ("The push URL cannot be used: its host is not a name", Cause.ADDRESS_NOT_ALLOWED),
        ("acme.example: there is no such host; check the push URL and its DNS", Cause.UNREACHABLE),
        ("it did not answer completely in time; tried 9 times", Cause.NO_ANSWER),
        ("it closed the connection without an answer", Cause.NO_ANSWER),
        ("there was no answer", Cause.NO_ANSWER),
        ("what it answered is not HTTP", Cause.BAD_ANSWER),
        ("its answer is longer than 65536 bytes; answer with less", Cause.BAD_ANSWER),
        ("the response in the answer was refused: [reference.invalid] x", Cause.BAD_ANSWER),
        ("The secret that push.secretFrom names cannot sign: x", Cause.PUSH_SETTINGS),
        ("push.settings: file:hook: the operator has put no such file in push-secrets", Cause.PUSH_SETTINGS),
        ("route.failed: push.settings: anything at all", Cause.PUSH_SETTINGS),
        ("file:hook: the operator has put no such file in push-secrets; tried 3 times", Cause.PUSH_SETTINGS),
        ("env:PUSH_SECRET_X: the operator has not set this variable", Cause.PUSH_SETTINGS),
        ("handed out once without being acknowledged", Cause.NOT_ACKNOWLEDGED),
        ("file:hook: this file cannot be read as text", Cause.PUSH_SETTINGS),
        ("env:X: there is no such secret", Cause.OTHER),
        ("", Cause.OTHER),
        ("for a test", Cause.OTHER),
    ],
)  # fmt: skip
def test_other_reasons(reason: str, cause: Cause) -> None:
    assert cause_of(reason) is cause


def test_every_cause_has_a_meaning() -> None:
    assert set(MEANING) == set(Cause)


@dataclass(frozen=True)
class Told:
    id: int
    service: str
    cause: Cause
    failed_at_us: int
    reason: str = ""


def test_letters_are_grouped_by_service_and_cause_the_largest_group_first() -> None:
    letters = [
        Told(1, "A/B", Cause.TLS, 10), Told(2, "A/B", Cause.TLS, 30, "newest"), Told(3, "A/B", Cause.OTHER, 20),
        Told(4, "A/C", Cause.TLS, 5), Told(5, "A/B", Cause.TLS, 20),
    ]  # fmt: skip
    first, *others = group_letters(letters)
    assert (first.count, first.oldest_us, first.newest_us, first.example, first.reason) == (3, 10, 30, 2, "newest")
    assert [(group.service, group.cause, group.count) for group in others] == [
        ("A/B", Cause.OTHER, 1), ("A/C", Cause.TLS, 1),
    ]  # fmt: skip
