"""Unique keys: hashes that prevent an entry from being written twice (handle, answer, journey end …).

Rule: an entry's keys follow from the entry alone, so desks and indexes, live or rebuilt, store the same keys. The
writer of an entry passes its keys with the step; of two entries with the same key, the second is refused.
"""

from __future__ import annotations

from postroad.core.model.batch import Batch
from postroad.core.model.billing_entries import (
    FIRST_VERSION,
    BillingJournalEntry,
    InvoiceCredited,
    InvoiceIssued,
    PaymentRecorded,
)
from postroad.core.model.ids import key_hash
from postroad.core.model.interchange import AssembledInterchange, DrawnNumber
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
from postroad.core.model.secret_entries import SECRET, SecretChanged, secret_object

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
        return [batch_answer_key(entry.session, entry.batch)]
    if isinstance(entry, DeliveryResent):
        return [dead_letter_key(entry.delivery)]
    if isinstance(entry, DeliveriesDropped):
        return [dead_letter_key(number) for number in entry.deliveries]
    if isinstance(entry, ConfigurationChanged):
        return [version_key(change.kind, change.key, change.version) for change in entry.objects]
    if isinstance(entry, BillingJournalEntry):
        return billing_keys(entry)
    if isinstance(entry, SecretChanged):
        return [secret_version_key(entry)]
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
    """Return the unique keys of a post, for the code that writes its entry.

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


def assembled_keys(assembled: AssembledInterchange) -> tuple[int, ...]:
    """The keys of an interchange: the batch as it is from now on, and every number that it uses."""
    batch = () if assembled.batch is None else (batch_key(assembled.batch),)
    return batch + tuple(map(number_key, assembled.numbers))


def _keys_of_end(entry: DeliveriesEnded) -> list[int]:
    """Return the keys of ended deliveries and journeys; a later answer collides with them."""
    return [*map(journey_key, entry.journeys), *map(answer_key, entry.deliveries)]


def _key_of_batch(entry: DeliveriesAcknowledged | DeliveriesEnded) -> tuple[int, ...]:
    return () if entry.batch is None else (batch_key(entry.batch),)


def dead_letter_key(delivery: int) -> int:
    """Return the key that allows a dead letter to be resent or dropped only once."""
    return key_hash("dealt", f"{delivery:x}")


def handle_key(sender: str, handle: str) -> int:
    return key_hash("handle", sender, handle)


def flagged_key(handle: int) -> int:
    """Return the key of a handle accepted as a possible duplicate; no later post may use that handle."""
    # Other low bits than the handle's own: one key in 256 lies in this range, and must not be its own flagged key.
    return FLAGGED_FROM | (~handle & ((1 << 56) - 1))


def bulk_key(sender: str, key: str) -> int:
    """Return the key of all posts of a bulk with this Idempotency-Key."""
    return key_hash("bulk", sender, key)


def idempotency_key(sender: str, key: str) -> int:
    return key_hash("idempotency", sender, key)


def forward_key(delivery: int, what: str) -> int:
    """Return the key that lets an exchange forward a delivery once unchanged, and once for each transforming binding."""
    return key_hash("forward", f"{delivery:x}", what)


def relay_key(origin: str, exchange: str, what: str, content: str) -> int:
    """Return the key that lets an exchange pass a message to another exchange only once."""
    return key_hash("relay", origin, exchange, what, content)


def answer_key(delivery: int) -> int:
    """Return the key that a second answer to a delivery collides with."""
    return key_hash("answer", str(delivery))


def journey_key(journey: int) -> int:
    """Return the key that a second end of a journey collides with."""
    return key_hash("journey", str(journey))


def batch_key(batch: Batch) -> int:
    """Return the key of one version of a batch; concurrent changes collide here."""
    return key_hash("batch", batch.id, str(batch.version))


def number_key(drawn: DrawnNumber) -> int:
    """Return the key of a control number, which is drawn only once."""
    return key_hash("number", drawn.series, str(drawn.number))


def interchange_key(splitter: str, standard: str, sender: str, receiver: str, reference: str, date: str) -> int:
    """Return the key of a received interchange: one number per splitter, partner and day."""
    return key_hash("came", splitter, standard, sender, receiver, reference, date)


def batch_answer_key(session: str, batch: str) -> int:
    """Return the key that records an acknowledgment of a batch only once."""
    return key_hash("heard", session, batch)


def version_key(kind: str, key: str, version: int) -> int:
    """Return the key of one version of a configuration object; concurrent changes collide here."""
    return key_hash("version", kind, key, str(version))


def secret_version_key(entry: SecretChanged) -> int:
    """Return the key of one version of a secret; of two changes at the same moment, the second is refused."""
    return version_key(SECRET, secret_object(entry)[0], entry.version)


def billing_keys(entry: BillingJournalEntry) -> list[int]:
    """Return the keys of a billing record: its number, its place in the account, and the request that asked for it.

    A number is the key that it also has when it was added by `apply`, so it is never used twice.
    """
    if isinstance(entry, PaymentRecorded):
        return [version_key("payment", entry.id, FIRST_VERSION), *_request_key(entry)]
    document = entry.document
    account = key_hash("billed", document.organization, document.period, document.currency, entry.follows)
    keys = [version_key("invoice", document.number, FIRST_VERSION), account]
    return keys if isinstance(entry, InvoiceIssued) else [*keys, *_request_key(entry)]


def _request_key(entry: InvoiceCredited | PaymentRecorded) -> tuple[int, ...]:
    return (key_hash("billing request", entry.request),) if entry.request else ()
