"""Decides whether a delivery may repeat an earlier one: its sender says so, or the network was restored since.

Rule: after a restore, a message is a possible duplicate if it was posted before the restore, or answers such a message.
The deliveries that were acknowledged after the cut are unknown, so none of them is assumed to be new.
"""

from __future__ import annotations

from postroad.core.model.delivery import Queued
from postroad.core.model.ids import delivery_origin
from postroad.core.model.journal import MessagePosted


def is_possible_duplicate(queued: Queued, restored_seq: int) -> bool:
    """Return whether the delivery is handed out as a possible duplicate; ``restored_seq``: entry of the last restore, or 0."""
    message = queued.message
    if message.possible_duplicate or not restored_seq:
        return message.possible_duplicate
    return queued.message_seq < restored_seq or _answers_before(message, restored_seq)


def _answers_before(message: MessagePosted, restored_seq: int) -> bool:
    """Whether the message answers a delivery, or ends a journey, from before the restore."""
    answered = message.answers.delivery if message.answers is not None else 0
    ended = message.ends.journey if message.ends is not None else 0
    return any(number and delivery_origin(number)[0] < restored_seq for number in (answered, ended))
