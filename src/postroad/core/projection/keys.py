"""What must not happen twice, as hashes: a handle used, a delivery answered, a journey ended, a number drawn …

Kept rule: an entry's keys follow from the entry alone, so desks and indexes, live or made anew, remember the same. Whoever writes
an entry gives its keys with the step; of two that share one, the second is refused.
"""

from __future__ import annotations

from postroad.core.model.batch import Batch
from postroad.core.model.ids import key_hash
from postroad.core.model.interchange import Assembled, Drawn
from postroad.core.model.journal import (
    BatchesChanged,
    ConfigurationChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveryResent,
    Entry,
    InterchangeAnswered,
    InvocationReturned,
    MessagePosted,
)

# Keys of handles that were accepted as possible duplicates are in the last 256th of all keys: an index finds them together.
FLAGGED_FROM = 0x7F << 56


def unique_keys(entry: Entry) -> list[int]:
    """Hashes under which this entry is remembered, so that a second one like it is recognised."""
    if isinstance(entry, MessagePosted):
        return list(entry.keys or keys_of_post(entry))
    if isinstance(entry, InvocationReturned):
        return list(entry.keys or (answer_key(entry.delivery),))
    if isinstance(entry, DeliveriesAcknowledged):
        return [*map(journey_key, entry.journeys), *_key_of_batch(entry)]
    if isinstance(entry, DeliveriesEnded):
        return [*(_keys_of_end(entry) if entry.journeys else ()), *_key_of_batch(entry)]
    if isinstance(entry, BatchesChanged):
        return [batch_key(batch) for batch in entry.batches]
    if isinstance(entry, InterchangeAnswered):
        return [heard_key(entry.session, entry.batch)]
    if isinstance(entry, DeliveryResent):
        return [dealt_key(entry.delivery)]
    if isinstance(entry, DeliveriesDropped):
        return [dealt_key(number) for number in entry.deliveries]
    if isinstance(entry, ConfigurationChanged):
        return [version_key(change.kind, change.key, change.version) for change in entry.objects]
    return []


def post_keys(
    sender: str,
    handle: str,
    idempotency: str,
    answers_delivery: int | None = None,
    ends_journey: int = 0,
    *,
    flagged: bool = False,
) -> tuple[int, ...]:
    """The keys of a post, for whoever writes its entry: hashed once there, they need not be hashed by every reader.

    ``flagged``: its handle was accepted as a possible duplicate.
    """
    keys = []
    if handle:
        keys.append(handle_key(sender, handle))
        if flagged:
            keys.append(flagged_key(keys[0]))
    if idempotency:
        keys.append(idempotency_key(sender, idempotency))
    if answers_delivery is not None:
        keys.append(answer_key(answers_delivery))
    if ends_journey:
        keys.append(journey_key(ends_journey))
    return tuple(keys)


def keys_of_post(entry: MessagePosted) -> tuple[int, ...]:
    answered = entry.answers.delivery if entry.answers is not None else None
    ended = entry.ends.journey if entry.ends is not None else 0
    flagged = entry.possible_duplicate
    keys = post_keys(entry.sender, entry.handle, entry.idempotency, answered, ended, flagged=flagged)
    return keys if entry.assembled is None else (*keys, *assembled_keys(entry.assembled))


def assembled_keys(assembled: Assembled) -> tuple[int, ...]:
    """The keys of an interchange: the batch as it is from now on, and every number that it uses."""
    batch = () if assembled.batch is None else (batch_key(assembled.batch),)
    return batch + tuple(map(number_key, assembled.numbers))


def _keys_of_end(entry: DeliveriesEnded) -> list[int]:
    """With the journeys end the answers: whoever has taken a delivery of one and answers it later collides here."""
    return [*map(journey_key, entry.journeys), *map(answer_key, entry.deliveries)]


def _key_of_batch(entry: DeliveriesAcknowledged | DeliveriesEnded) -> tuple[int, ...]:
    return () if entry.batch is None else (batch_key(entry.batch),)


def dealt_key(delivery: int) -> int:
    """A dead letter is resent or dropped once."""
    return key_hash("dealt", f"{delivery:x}")


def handle_key(sender: str, handle: str) -> int:
    return key_hash("handle", sender, handle)


def flagged_key(handle: int) -> int:
    """A handle, given by its key, that was accepted as a possible duplicate: no later post of that sender may use it."""
    # Other low bits than the handle's own: one key in 256 lies in this range, and must not be its own flagged key.
    return FLAGGED_FROM | (~handle & ((1 << 56) - 1))


def bulk_key(sender: str, key: str) -> int:
    """All posts of a bulk with this Idempotency-Key; where it is new, so are the keys of each of them."""
    return key_hash("bulk", sender, key)


def idempotency_key(sender: str, key: str) -> int:
    return key_hash("idempotency", sender, key)


def forward_key(delivery: int, what: str) -> int:
    """An exchange forwards a delivery once: as it came, and once for each binding that makes something else of it."""
    return key_hash("forward", f"{delivery:x}", what)


def relay_key(origin: str, exchange: str, what: str, content: str) -> int:
    """An exchange hands what was posted on to another exchange once, however many ways it has come there by."""
    return key_hash("relay", origin, exchange, what, content)


def answer_key(delivery: int) -> int:
    """A delivery is answered once; this key is what the second answer collides with."""
    return key_hash("answer", str(delivery))


def journey_key(journey: int) -> int:
    """A journey comes to one end; this key is what any other end collides with."""
    return key_hash("journey", str(journey))


def batch_key(batch: Batch) -> int:
    """A batch has each version once; two who change it at the same time collide here."""
    return key_hash("batch", batch.id, str(batch.version))


def number_key(drawn: Drawn) -> int:
    """A control number is drawn once, whoever draws it."""
    return key_hash("number", drawn.series, str(drawn.number))


def came_key(splitter: str, standard: str, sender: str, receiver: str, reference: str, date: str) -> int:
    """A partner sends an interchange once to a splitter: its number stands for one interchange of a day."""
    return key_hash("came", splitter, standard, sender, receiver, reference, date)


def heard_key(session: str, batch: str) -> int:
    """What a message says of a batch is written down once."""
    return key_hash("heard", session, batch)


def version_key(kind: str, key: str, version: int) -> int:
    """A configuration object has each version once; two nodes changing it at the same time collide here."""
    return key_hash("version", kind, key, str(version))
