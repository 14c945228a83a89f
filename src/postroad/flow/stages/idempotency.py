"""Idempotency of posts: the keys of a post, those that must be new, and the answers to repetitions.

Rules: an Idempotency-Key belongs to one post, and a repetition gets the first answer. Handles are checked if one of
two posts has the possible-duplicate flag: a post with the flag needs a new handle, and a post without it is refused
if a flagged post with its handle was accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Message
from postroad.core.projection.unique_keys import bulk_key, flagged_key, handle_key, idempotency_key, post_keys
from postroad.errors import Refused
from postroad.flow.stages.posting import Answer, AnsweredAt, Posting
from postroad.ports import JournalStep


class PostStep(JournalStep, gc=False, frozen=True):
    """The step that stores a post."""

    entry: MessagePosted


class IndexedPost(NamedTuple):
    """One post of many, with its index."""

    place: int
    posting: Posting
    step: PostStep

    @property
    def bulk(self) -> int:
        """Return the key of its call; 0 if the call has none."""
        return bulk_key(self.step.entry.sender, self.posting.bulk) if self.posting.bulk else 0

    @property
    def looked_up(self) -> tuple[int, ...]:
        """Return the keys to look up; without the key of its index in a bulk, which is new if the bulk is."""
        keys = self.step.keys[1:] if self.posting.bulk else self.step.keys
        return keys + self.step.absent


def derive_post_keys(sender: str, message: Message, posting: Posting) -> tuple[int, ...]:
    """Return the keys of a post; usually that of its handle only."""
    handle, flagged = message.handle, message.possible_duplicate
    if handle and not posting.idempotency and not flagged:
        return (handle_key(sender, handle),)
    keys = post_keys(sender, handle, posting.idempotency, flagged=flagged)
    return (*keys, bulk_key(sender, posting.bulk)) if posting.bulk else keys


def build_unique_step(entry: MessagePosted, body: bytes | None, organization: str) -> PostStep:
    """Return the step that stores a post of this organization unless one with the same keys exists."""
    keys: tuple[int, ...] = ()
    if entry.idempotency:  # before the handle: a repetition with the key gets the first answer
        keys = (idempotency_key(entry.sender, entry.idempotency),)
    if not entry.handle:
        return PostStep(entry, body, keys, organization=organization)
    handle = entry.keys[0]
    if entry.possible_duplicate:
        return PostStep(entry, body, (*keys, handle, flagged_key(handle)), organization=organization)
    return PostStep(entry, body, keys, absent=(flagged_key(handle),), organization=organization)


def duplicate_error(entry: MessagePosted, session: str) -> Refused:
    """Return the refusal for a post whose handle was used before."""
    detail = f"Handle {entry.handle!r} was posted before and accepted as session {session}; nothing more to do"
    return Refused("message.duplicate", detail, session=session)


def reused_key_error(posting: Posting, session: str) -> Refused:
    """Return the refusal for a post whose Idempotency-Key or Message-ID was used with a different message."""
    if posting.arrival is not None and posting.arrival.message_id:
        detail = "This Message-ID was used for another message; use a new Message-ID for each message"
        return Refused("as2.message-id-reused", detail, session=session)
    detail = "This Idempotency-Key was used for another message; use a new key for each message"
    return Refused("idempotency.mismatch", detail, session=session)


def answer_all(posts: Sequence[IndexedPost], answered: AnsweredAt, answer: Answer) -> None:
    for one in posts:
        answered(one.place, answer)
