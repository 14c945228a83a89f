"""Where a message is, in plain words, for every state in which a copy can be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroad.core.audit.history.copy_status import HIDDEN_ENDS, CopyStatus, list_copy_statuses
from postroad.core.model.delivery import PushPause
from postroad.core.model.directory import DeliveryMode, DeliveryWindow, Organization, Release, Service
from postroad.core.model.history import BatchMembership, CopyHistory, HistoryEvent, MessageHistory, ReleaseHold, Stop
from postroad.core.model.snapshot import Directory

pytestmark = pytest.mark.req("C2")

POSTED, NOW, EXPIRES = 1_000_000, 60_000_000, 3_600_000_000
SUPPLY, STAMP = "5" * 16, "7" * 16
POLLING = Service(gcid=SUPPLY, organization="Acme", name="Supply")
PUSHED = replace(POLLING, delivery=DeliveryMode.PUSH)


def event(what: str, at_us: int = 2_000_000, **more: Any) -> HistoryEvent:
    return HistoryEvent(seq=1, at_us=at_us, what=what, by="Acme/Supply", **more)


def stop(*events: HistoryEvent, state: str = "queued", **more: Any) -> Stop:
    facts: dict[str, Any] = {"delivery": 7, "service": "Acme/Supply", "gcid": SUPPLY, "in_transit": False, "size": 9}
    return Stop(events=list(events), state=state, **facts | more)


def message(*stops: Stop, **more: Any) -> MessageHistory:
    facts: dict[str, Any] = {"recipient": "Acme/Supply", "code": "", "detail": "", "route": ["Acme/Supply"]}
    copy = CopyHistory(stops=list(stops), **facts | more)
    return MessageHistory(
        seq=1, session="s", at_us=POSTED, type="request", sender="MyBiz/Out", topic="", handle="", size=9, form="json",
        directory=1, answers="", copies=[copy], expires_at_us=EXPIRES,
    )  # fmt: skip


def told(found: MessageHistory, service: Service | None = POLLING) -> CopyStatus:
    directory = Directory(services={SUPPLY: service} if service is not None else {})
    [one] = list_copy_statuses(found, directory, NOW)
    return one


def said(one: CopyStatus) -> tuple[str, int, str, str, int]:
    return one.where, one.since_us, one.why, one.next, one.next_us


MAILBOX = "It waits in the mailbox of Acme/Supply."
SUSPENDED = "The service is suspended and receives nothing."  # the reason is not for its senders
NOT_TAKEN = "It waits at Acme/Supply, which did not accept it last time."
HANDED_OUT = "Acme/Supply has received it and has not acknowledged it yet."
BATCH = BatchMembership(batch="b-1", state="open")


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (POLLING, (MAILBOX, "", "Acme/Supply polls for its messages, and has not polled since.", 0)),
        (PUSHED, (MAILBOX, "", "It is pushed next, unless the receiver has just failed.", 0)),
        (
            replace(
                PUSHED, windows=(DeliveryWindow(days=("thu",), opens="02:00", closes="03:00"),)
            ),  # 1970 began on a Thursday
            (MAILBOX, "", "It is pushed when the delivery window opens.", 2 * 3_600_000_000),
        ),
        (
            replace(POLLING, suspended="unpaid"),
            (MAILBOX, SUSPENDED, "It waits until an operator ends the suspension.", 0),
        ),
        (None, (MAILBOX, "", "", 0)),
    ],
)
def test_what_nobody_has_tried_waits_as_its_receiver_receives(
    service: Service | None, expected: tuple[str, str, str, int]
) -> None:
    one = told(message(stop()), service)
    assert (one.where, one.why, one.next, one.next_us) == expected
    assert (one.state, one.since_us, one.expires_us) == ("waiting", POSTED, EXPIRES)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (
            event("handed out", until_us=NOW + 1),
            (HANDED_OUT, 2_000_000, "", "If it is not acknowledged before its lease ends, the message is redelivered.", NOW + 1),
        ),
        (
            event("handed out", until_us=NOW - 1),
            (HANDED_OUT, 2_000_000, "", "Its lease has ended: the service's next poll receives it again.", 0),
        ),
        (
            event("push failed", detail="HTTP 503; again in 5 s", why="HTTP 503", until_us=NOW + 5),
            (NOT_TAKEN, 2_000_000, "HTTP 503", "It is retried.", NOW + 5),
        ),
        (event("given back", detail="busy; again at once", why="busy"), (NOT_TAKEN, 2_000_000, "busy", "It is retried.", 0)),
        (
            event("pushed", detail="receipt awaited", until_us=NOW + 9),
            ("It was pushed to Acme/Supply; the MDN has not arrived yet.", 2_000_000, "receipt awaited",
             "Without an MDN it is pushed again.", NOW + 9),
        ),
        (
            event("translated"),
            (MAILBOX, 2_000_000, "", "Acme/Supply polls for its messages, and has not polled since.", 0),
        ),
    ],
)  # fmt: skip
def test_what_was_tried_says_what_came_of_it_and_when_it_is_tried_again(
    last: HistoryEvent, expected: tuple[Any, ...]
) -> None:
    assert said(told(message(stop(last)))) == expected


@pytest.mark.parametrize(
    ("until_us", "next_"),
    [
        (NOW + 7, "It is pushed with all other waiting messages."),
        (0, "It is pushed when enough messages wait, or on request."),
    ],
)
def test_what_is_held_back_says_until_when(until_us: int, next_: str) -> None:
    one = told(message(stop(held=ReleaseHold(until_us=until_us))), PUSHED)
    assert said(one) == ("It waits for release at Acme/Supply.", POSTED, "", next_, until_us)
    assert told(message(stop()), PUSHED).where == MAILBOX


def test_a_receiver_that_keeps_messages_for_a_shorter_time_lets_them_expire_first() -> None:
    assert told(message(stop()), replace(PUSHED, release=Release(keep_s=10))).expires_us == POSTED + 10_000_000


def test_what_has_joined_a_batch_goes_with_it_and_what_has_left_it_waits_as_before() -> None:
    one = told(message(stop(event("gathered"), gathered=BATCH)))
    assert (one.where, one.batch) == ("Acme/Supply has gathered it in a batch, which is open.", "b-1")
    left = told(message(stop(event("gathered"), gathered=replace(BATCH, state="left"))))
    assert (left.where, left.batch) == (MAILBOX, "")


@pytest.mark.parametrize(
    ("state", "copy", "where", "next_"),
    [
        ("delivered", "delivered", "Acme/Supply has received it.", ""),
        ("delivered", "under way", "Acme/Supply has received it.", "Acme/Supply is expected to respond."),
        ("rejected", "rejected", "It was rejected at Acme/Supply.", "The reason states what the service does not accept."),
        ("failed", "failed", "It could not be delivered to Acme/Supply and is kept as a dead letter.",
         "Fix the cause, then resend it; or drop it."),
        ("expired", "expired", "It expired before Acme/Supply received it.",
         "If it is still needed, send it again with a later expiry, or ask Acme/Supply why it received nothing."),
        ("cancelled", "cancelled", "It was cancelled before Acme/Supply received it.", ""),
    ],
)  # fmt: skip
def test_every_end_has_its_sentence(state: str, copy: str, where: str, next_: str) -> None:
    one = told(message(stop(event(state, 3_000_000, detail="why"), state=state), state=copy))
    assert said(one) == (where, 3_000_000, "" if state == "delivered" else "why", next_, 0)
    assert one.expires_us == (EXPIRES if copy == "under way" else 0)


def test_a_copy_that_was_refused_or_has_reached_nobody_says_so() -> None:
    refused = told(message(code="recipient.unknown", detail="no such service"))
    assert (refused.state, refused.where) == ("refused", "It was not sent to Acme/Supply.")
    assert refused.why == "recipient.unknown: no such service"


def test_who_has_answered_is_not_expected_to() -> None:
    answered = stop(event("answered", 3_000_000, detail="with session r-1"), state="delivered")
    going = told(message(answered, state="under way"))
    where = "Acme/Supply has responded."
    assert said(going) == (where, 3_000_000, "", "Its response is on its way, with session r-1.", 0)
    assert going.expires_us == EXPIRES
    done = told(message(answered, state="delivered"))
    assert (*said(done), done.expires_us) == (where, 3_000_000, "", "", 0, 0)


ANSWERED = stop(event("answered", 4_000_000), state="delivered", service="Stamps/In", in_transit=True)


@pytest.mark.parametrize("stops", [(), (ANSWERED,)], ids=["from the start", "after a stop"])
def test_where_somebody_keeps_the_way_to_itself_it_says_no_more_than_how_it_ended(stops: tuple[Stop, ...]) -> None:
    route = ["Stamps/In", "Acme/Supply"]
    going = told(message(*stops, state="under way", route=route))
    assert (going.state, going.where, going.next) == ("in transit", "It is on its way to Acme/Supply.", "")
    assert going.since_us == (4_000_000 if stops else POSTED)
    assert going.expires_us == EXPIRES
    ended = [told(message(*stops, state=state, route=route)) for state in HIDDEN_ENDS]
    assert {one.state: one.where for one in ended} == {
        "delivered": "It has reached Acme/Supply.",
        "rejected": "It was rejected on its way to Acme/Supply.",
        "failed": "It could not be delivered to Acme/Supply.",
        "expired": "It expired on its way to Acme/Supply.",
        "cancelled": "It was cancelled on its way to Acme/Supply.",
    }
    assert {(one.since_us, one.next, one.expires_us) for one in ended} == {(0, "", 0)}


def test_further_on_it_waits_since_the_stop_before_let_it_go() -> None:
    before = stop(event("answered", 4_000_000), state="delivered", gcid=STAMP, service="Stamps/In")
    assert told(message(before, stop())).since_us == 4_000_000


def test_services_of_a_suspended_organization_are_suspended() -> None:
    house = Organization(name="Acme", suspended="unpaid")
    directory = Directory(services={SUPPLY: POLLING}, organizations={"acme": house})
    [one] = list_copy_statuses(message(stop()), directory, NOW)
    assert (one.why, one.next) == (SUSPENDED, "It waits until an operator ends the suspension.")


PAUSE = PushPause(until_us=90_000_000, failed=3, of=5)
PAUSED = "Pushes to Acme/Supply are paused because 3 of the last 5 pushes failed. The next push is attempted."


@pytest.mark.parametrize("has_failed", [True, False])
def test_a_pause_of_pushes_is_reported_with_its_end(has_failed: bool) -> None:
    why = "the receiver answered 500, after 27 ms"
    failed = event("push failed", detail=f"{why}; again in 1.838 s", why=why, until_us=3_838_000)
    one = told(message(stop(*([failed] if has_failed else []), paused=PAUSE)), PUSHED)
    assert (one.next, one.next_us) == (PAUSED, 90_000_000)
    assert one.why == ("the receiver answered 500, after 27 ms" if has_failed else "")
    assert "again" not in one.why


def test_what_a_poll_was_handed_in_a_pause_waits_for_the_poll() -> None:
    one = told(message(stop(event("handed out", until_us=90_000_000), paused=PAUSE)), PUSHED)
    assert one.where == HANDED_OUT
