"""Causes follow from the codes of the reasons that the network really gives, and letters fall into groups by them."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import pytest

from postroad.adapters.transport.no_answer import find_reason
from postroad.core.delivery import reasons
from postroad.core.delivery.dead_letters import CAUSES, MEANING, Cause, cause_of, group_letters
from postroad.core.delivery.push_endpoints import target_at
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import add_values, make_reason, reason_text
from postroad.core.delivery.retry_policy import GiveUp, decide_push
from postroad.core.model.directory import Push
from postroad.core.model.reason import Reason

PUSH = Push(url="https://acme.example/in", tries=3)


def given_up(answer: PushAnswer) -> Reason:
    judged = decide_push(answer, target_at(PUSH, 3), 0.5, 0)
    assert isinstance(judged, GiveUp)
    return judged.reason


def _tls_error() -> ssl.SSLError:
    error = ssl.SSLError(1, "wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


def _certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "certificate has expired"
    return error


STATUSES = {
    500: Cause.SERVER_ERROR, 503: Cause.SERVER_ERROR, 429: Cause.SERVER_ERROR, 302: Cause.REDIRECTED, 400: Cause.REFUSED,
    401: Cause.REFUSED, 404: Cause.REFUSED,
}  # fmt: skip
ERRORS: list[tuple[Exception, Cause]] = [
    (ConnectionRefusedError(), Cause.UNREACHABLE), (ConnectionResetError(), Cause.NO_ANSWER),
    (TimeoutError(), Cause.NO_ANSWER), (OSError(113, "No route to host"), Cause.UNREACHABLE),
    (_tls_error(), Cause.TLS), (_certificate_error(), Cause.TLS),
]  # fmt: skip


@pytest.fixture(params=["as today", "all reworded"])
def texts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "all reworded":
        reword(monkeypatch)


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every text of the catalogue other words, which an old expression takes for another cause."""
    for code in reasons.TEXTS:
        monkeypatch.setitem(reasons.TEXTS, code, "handed out 7 times, in other words")
    for name in ("AT_HOST", "AT_BACKUP", "AFTER_TRIES"):
        monkeypatch.setattr(reasons, name, "what it answered: {text}")


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(("status", "cause"), STATUSES.items())
def test_what_the_receiver_answered(status: int, cause: Cause) -> None:
    why = given_up(PushAnswer(status=status))
    assert cause_of(why.code, reason_text(why)) is cause
    assert (why.value("status"), why.value("tries")) == (str(status), "3")


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(("error", "cause"), ERRORS)
def test_why_there_was_no_answer(error: Exception, cause: Cause) -> None:
    why = given_up(PushAnswer(status=None, fault=add_values(find_reason(error), host="acme.example")))
    assert cause_of(why.code, reason_text(why)) is cause


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    "code", [*reasons.TEXTS, "mediation.lossy", "interchange.unfit", "route.loop", "wire.too-complex"]
)
def test_the_text_of_a_reason_does_not_change_its_cause(code: str) -> None:
    why = make_reason(code, status=500, count=3, detail="words", host="acme.example", by="A/B")
    assert cause_of(code, reason_text(why)) is cause_of(code, "")


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("push.settings", Cause.PUSH_SETTINGS),
        ("delivery.not-acknowledged", Cause.NOT_ACKNOWLEDGED),
        ("service.error", Cause.IN_TRANSIT),
        ("route.no-return", Cause.MISROUTED),
        ("route.loop", Cause.MISROUTED),
        ("policy.transport", Cause.MISROUTED),
        ("recipient.unknown", Cause.MISROUTED),
        ("rule.invalid", Cause.MISROUTED),
        ("mediation.lossy", Cause.NOT_WHOLE),
        ("interchange.duplicate", Cause.INTERCHANGE),
        ("wire.too-complex", Cause.INTERCHANGE),
        ("batch.taken-out", Cause.OTHER),
        ("service.failed", Cause.OTHER),
        ("other", Cause.OTHER),
    ],
)
def test_other_codes(code: str, cause: Cause) -> None:
    assert cause_of(code, "handed out 3 times without being acknowledged") is cause


def test_every_code_with_a_cause_is_in_the_catalogue() -> None:
    assert set(CAUSES) - set(reasons.TEXTS) == {"push.settings", "mediation.lossy", "wire.too-complex"}


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
