"""What makes a post come once: the keys it is remembered by, those that must be new, and what a repeated one is told.

Rules: an Idempotency-Key belongs to one post, and a repeated one gets the first answer. A handle is checked where one of two
posts has the possible-duplicate flag: with it, the handle must be new; without it, no post may have been accepted with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Message
from postroad.core.projection.keys import bulk_key, flagged_key, handle_key, idempotency_key, post_keys
from postroad.errors import Refused
from postroad.flow.posting import Answer, AnsweredAt, Posting
from postroad.ports import Step


class Placed(NamedTuple):
    """One post of many, with its place among them."""

    place: int
    posting: Posting
    step: Step

    @property
    def entry(self) -> MessagePosted:
        return self.step.entry  # type: ignore[return-value]

    @property
    def bulk(self) -> int:
        """The key of the call that it came with; 0 if that has none."""
        return bulk_key(self.entry.sender, self.posting.bulk) if self.posting.bulk else 0

    @property
    def looked_up(self) -> tuple[int, ...]:
        """The keys that must not have been used before, apart from that of its place in a bulk, which is new if the bulk is."""
        keys = self.step.keys[1:] if self.posting.bulk else self.step.keys
        return keys + self.step.absent


def keys_of(sender: str, message: Message, posting: Posting) -> tuple[int, ...]:
    """The keys that a post is remembered by. Most posts have a handle and nothing else that could come twice."""
    handle, flagged = message.handle, message.possible_duplicate
    if handle and not posting.idempotency and not flagged:
        return (handle_key(sender, handle),)
    keys = post_keys(sender, handle, posting.idempotency, flagged=flagged)
    return (*keys, bulk_key(sender, posting.bulk)) if posting.bulk else keys


def once(entry: MessagePosted, body: bytes | None) -> Step:
    """The step that stores a post, if no other post stands against it."""
    keys: tuple[int, ...] = ()
    if entry.idempotency:  # before the handle: what is repeated with its key gets the first answer
        keys = (idempotency_key(entry.sender, entry.idempotency),)
    if not entry.handle:
        return Step(entry, body, keys)
    handle = entry.keys[0]
    if entry.possible_duplicate:
        return Step(entry, body, (*keys, handle, flagged_key(handle)))
    return Step(entry, body, keys, absent=(flagged_key(handle),))


def duplicate(entry: MessagePosted, session: str) -> Refused:
    """The answer to a post whose handle was used before."""
    detail = f"Handle {entry.handle!r} was posted before and accepted as session {session}; nothing more to do"
    return Refused("message.duplicate", detail, session=session)


def reused(posting: Posting, session: str) -> Refused:
    """The answer to a post whose Idempotency-Key or Message-ID came with another message before."""
    if posting.came is not None and posting.came.message_id:
        detail = "Another message came under this Message-ID before; send each message under an id of its own"
        return Refused("as2.message-id-reused", detail, session=session)
    detail = "This Idempotency-Key came with another message before; use a new key for a new message"
    return Refused("idempotency.mismatch", detail, session=session)


def answer_all(posts: Sequence[Placed], answered: AnsweredAt, answer: Answer) -> None:
    for one in posts:
        answered(one.place, answer)
