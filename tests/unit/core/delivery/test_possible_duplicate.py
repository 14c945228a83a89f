"""After a restore, a message from before it, and an answer to one, may have been delivered already."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from postroad.core.delivery.possible_duplicate import is_possible_duplicate
from postroad.core.model.delivery import DeliveryContent, Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import AnsweredDelivery, JourneyEnding, MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.restore import Restore, skip_numbers_after_restores

RESTORED = 100
POST = MessagePosted(
    at_us=1, session="s", transaction="s", sender="a" * 16, type=MessageType.NOTIFICATION, topic="", size=0, form="json",
    expires_at_us=0, directory=1, parts=(), copies=(),
)  # fmt: skip


def queued(message_seq: int, message: MessagePosted = POST, number: int = 0) -> Queued:
    return Queued(
        number=number or delivery_number(message_seq, 0),
        message_seq=message_seq,
        message=message,
        copy=0,
        hop=0,
        recipient="b" * 16,
        content=DeliveryContent((), None),
        expires_at_us=0,
    )


def answering(delivery: int) -> MessagePosted:
    return replace(POST, answers=AnsweredDelivery(delivery, "s"))


def test_without_a_restore_only_the_sender_decides() -> None:
    assert not is_possible_duplicate(queued(1), 0)
    assert is_possible_duplicate(queued(1, replace(POST, possible_duplicate=True)), 0)


@pytest.mark.parametrize(("seq", "expected"), [(1, True), (RESTORED - 1, True), (RESTORED + 1, False)])
def test_messages_from_before_the_restore_are_marked(seq: int, expected: bool) -> None:
    assert is_possible_duplicate(queued(seq), RESTORED) is expected


def test_a_later_stop_of_an_earlier_message_is_marked() -> None:
    """Its service may have passed it on before, in the part of the history that is lost."""
    assert is_possible_duplicate(queued(50, number=delivery_number(RESTORED + 7, 0)), RESTORED)


@pytest.mark.parametrize(("answered", "expected"), [(50, True), (RESTORED + 1, False)])
def test_an_answer_is_marked_like_its_request(answered: int, expected: bool) -> None:
    answer = answering(delivery_number(answered, 3))
    assert is_possible_duplicate(queued(RESTORED + 5, answer), RESTORED) is expected
    error = replace(answering(0), ends=JourneyEnding(delivery_number(answered, 0), 0, "failed", "late"))
    assert is_possible_duplicate(queued(RESTORED + 5, error), RESTORED) is expected


def test_numbers_are_skipped_once_for_each_later_restore() -> None:
    restores = [Restore(seq=100, cut=99, skip_numbers=1_000), Restore(seq=200, cut=199, skip_numbers=10)]
    assert skip_numbers_after_restores(7, 50, restores) == 1_017
    assert skip_numbers_after_restores(7, 150, restores) == 17
    assert skip_numbers_after_restores(7, 250, restores) == 7
    assert skip_numbers_after_restores(0, 0, restores) == 1_010, "a series that may have begun in the lost part"
    assert skip_numbers_after_restores(7, 50, []) == 7
