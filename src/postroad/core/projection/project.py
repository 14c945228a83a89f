"""Projects journal entries to index changes: the one function behind every index, in memory or in a database.

Rule: pure and total. It depends only on the entries, knows every kind, and its result does not depend on how the
entries were grouped; so an index can be deleted and rebuilt, and a test compares the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.batch import Batch
from postroad.core.model.billing_entries import (
    FIRST_VERSION,
    BillingJournalEntry,
    InvoiceCredited,
    InvoiceIssued,
    PaymentRecorded,
    record_value,
)
from postroad.core.model.delivery import FINAL, DeliveryState, JourneyLeg
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import (
    KINDS,
    AccessRecorded,
    AnsweredDelivery,
    BatchesChanged,
    ConfigurationChanged,
    CrossReferenceChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    DeliveryTranslated,
    InterchangeAnswered,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
    NetworkRestored,
    decode,
)
from postroad.core.model.level import LEVEL_KIND, describe_unknown_kind, read_level, require_readable
from postroad.core.model.message import MessageType
from postroad.core.model.restore import Restore
from postroad.core.model.secret_entries import SECRET, SecretChanged, secret_object
from postroad.core.model.sizes import content_size
from postroad.core.projection.search_keys import search_key_hashes
from postroad.core.projection.tables import Changes
from postroad.core.projection.unique_keys import (
    billing_keys,
    keys_of_post,
    secret_version_key,
    unique_keys,
    version_key,
)

BodyAt = tuple[int, int, int, bytes] | None
NO_BODY = (0, 0, 0, b"")

pack_pairs = pack_facts = msgspec.msgpack.Encoder().encode
pack_value = msgspec.json.Encoder(order="sorted").encode


def project(records: Iterable[tuple[int, bytes, BodyAt]]) -> Changes:
    """The changes that these records make to an index."""
    changes: Changes = defaultdict(list)
    for seq, facts, body in records:
        try:
            entry = decode(facts)
        except msgspec.DecodeError as error:
            raise _unreadable_entry(seq, facts) from error
        PROJECTORS[type(entry)](changes, seq, entry, facts, body)
    return changes


def _unreadable_entry(seq: int, facts: bytes) -> Exception:
    """Return the error for an entry that cannot be decoded: its kind is unknown, or it is damaged."""
    try:
        kind = str(msgspec.msgpack.decode(facts)[0])
    except (msgspec.DecodeError, IndexError, TypeError, KeyError):
        kind = ""
    if kind in KINDS:
        return ValueError(f"entry {seq} of the kind {kind} cannot be decoded; the journal is damaged")
    return describe_unknown_kind(seq, kind)


def settled_by_post(entry: MessagePosted) -> tuple[int, ...]:
    """Return the deliveries that this post ends: the one it answers, and the one whose journey it ends."""
    answered = (entry.answers.delivery,) if entry.answers is not None else ()
    ended = (entry.ends.delivery,) if entry.ends is not None and entry.ends.delivery else ()
    return answered + ended


def _posted(changes: Changes, seq: int, entry: MessagePosted, facts: bytes, body: BodyAt) -> None:
    session, sender, at_us = entry.session, entry.sender, entry.at_us
    changes["insert_message"].append(
        (seq, session, entry.transaction, sender, entry.type._value_, entry.topic, entry.handle, at_us, content_size(entry),
         facts,
         *(body or NO_BODY))
    )  # fmt: skip
    number = delivery_number(seq, 0)
    awaited = entry.type is MessageType.REQUEST
    for copy in entry.copies:
        if not copy.code:
            changes["insert_delivery"].append((number, copy.hops[0].service, sender, at_us, entry.expires_at_us))
            if (awaited or len(copy.hops) > 1) and entry.answers is None:  # as is_followed has it
                changes["insert_journey"].append((number, number, entry.expires_at_us))
        number += 1
    for key in entry.keys or keys_of_post(entry):
        changes["insert_seen"].append((key, session, seq))
    _found(changes, seq, entry)
    if entry.ends is not None:  # before what it answers: a delivery that is given up was not delivered
        _end_journey(changes, seq, at_us, entry.ends)
    if entry.assembled is not None:
        _assembled(changes, seq, session, entry.assembled)
    if entry.answers is not None:
        _settle(changes, seq, at_us, (entry.answers.delivery,), DeliveryState.DELIVERED, "answered")
        if entry.ends is None:
            _journey_answered(changes, seq, at_us, entry.answers)


def _found(changes: Changes, seq: int, entry: MessagePosted | MessageRefused) -> None:
    for key in search_key_hashes(entry):
        changes["insert_found"].append((key, seq))


def _assembled(changes: Changes, seq: int, session: str, assembled: AssembledInterchange) -> None:
    batch = assembled.batch
    for drawn in assembled.numbers:
        row = (drawn.series, drawn.number, session, "" if batch is None else batch.id, seq)
        changes["insert_control_number"].append(row)
    if batch is not None:
        # Under which number it is on its way is in the number of this very entry, which its writer could not know.
        _save_batch(changes, seq, replace(batch, delivery=delivery_number(seq, 0)))


def _save_batch(changes: Changes, seq: int, batch: Batch) -> None:
    changes["save_batch"].append(
        (batch.id, batch.service, batch.state.value, batch.opened_at_us, batch.changed_at_us, batch.interchange,
         pack_facts(batch), seq)
    )  # fmt: skip


def _batches_changed(changes: Changes, seq: int, entry: BatchesChanged, facts: bytes, body: BodyAt) -> None:
    for key in unique_keys(entry):
        changes["insert_seen"].append((key, "", seq))
    for batch in entry.batches:
        _save_batch(changes, seq, batch)
    reason = f"in batch {entry.batch}"
    for member in entry.joined:
        changes["insert_batch_member"].append((member.number, entry.batch, pack_facts(member), seq))
        changes["hand_out"].append((0, entry.at_us, IN_A_BATCH_US, reason, 0, seq, member.number))


def _interchange_answered(changes: Changes, seq: int, entry: InterchangeAnswered, facts: bytes, body: BodyAt) -> None:
    changes["insert_batch_answer"].append((seq, entry.at_us, entry.batch, entry.session, entry.verdict, facts))
    for key in unique_keys(entry):
        changes["insert_seen"].append((key, "", seq))


def _journey_answered(changes: Changes, seq: int, at_us: int, answers: AnsweredDelivery) -> None:
    if answers.journey:
        changes["move_journey"].append((delivery_number(seq, 0), JourneyLeg.BACK.value, seq, answers.journey))
    else:  # from before responses were followed, or no journey at all: there is nothing more to wait for
        changes["settle_journey"].append((DeliveryState.DELIVERED.value, at_us, "answered", seq, answers.delivery))


def _end_journey(changes: Changes, seq: int, at_us: int, ends: JourneyEnding) -> None:
    state = FINAL[ends.state]
    if ends.delivery:
        _settle(changes, seq, at_us, (ends.delivery,), state, ends.reason)
        _keep_failed(changes, seq, at_us, (ends.delivery,), ends)
    changes["settle_journey"].append((state.value, at_us, ends.reason, seq, ends.journey))


def _returned_invocation(changes: Changes, seq: int, entry: InvocationReturned, facts: bytes, body: BodyAt) -> None:
    for key in unique_keys(entry):
        changes["insert_seen"].append((key, entry.session, seq))
    changes["insert_content"].append((seq, entry.transaction, entry.session, facts, *(body or NO_BODY)))
    changes["insert_onward_delivery"].append(
        (delivery_number(seq, 0), entry.message, entry.copy, entry.hop, seq, entry.next, entry.by, entry.at_us,
         entry.expires_at_us)
    )  # fmt: skip
    _settle(changes, seq, entry.at_us, (entry.delivery,), DeliveryState.DELIVERED, "answered")
    journey = entry.journey or delivery_number(entry.message, entry.copy)  # which older entries do not name
    changes["move_journey"].append((delivery_number(seq, 0), None, seq, journey))


def _refused(changes: Changes, seq: int, entry: MessageRefused, facts: bytes, body: BodyAt) -> None:
    changes["insert_refused"].append(
        (
            seq,
            entry.session,
            entry.at_us,
            entry.sender,
            entry.code,
            entry.detail,
            content_size(entry),
            entry.form,
            entry.handle,
        )
    )
    _found(changes, seq, entry)


def _leased(changes: Changes, seq: int, entry: DeliveriesLeased, facts: bytes, body: BodyAt) -> None:
    for number in entry.deliveries:
        changes["hand_out"].append((1, entry.at_us, 0, "", 0, seq, number))


def _returned(
    changes: Changes, seq: int, entry: DeliveriesReturned | DeliveryAttempted, facts: bytes, body: BodyAt
) -> None:
    available_at_us = entry.at_us + int(entry.delay_s * 1_000_000) if entry.delay_s else 0
    waits_for_push = int(isinstance(entry, DeliveryAttempted) and entry.is_put_off)
    for number in entry.deliveries:
        changes["hand_out"].append((0, entry.at_us, available_at_us, entry.reason, waits_for_push, seq, number))


def _translated(changes: Changes, seq: int, entry: DeliveryTranslated, facts: bytes, body: BodyAt) -> None:
    changes["insert_trail"].append((entry.delivery, seq))


def _acknowledged(changes: Changes, seq: int, entry: DeliveriesAcknowledged, facts: bytes, body: BodyAt) -> None:
    reason = "acknowledged" if entry.batch is None else f"sent in batch {entry.batch.id}"
    _settle(changes, seq, entry.at_us, entry.deliveries, DeliveryState.DELIVERED, reason)
    _settle_journeys(changes, seq, entry, DeliveryState.DELIVERED, reason)


def _ended(changes: Changes, seq: int, entry: DeliveriesEnded, facts: bytes, body: BodyAt) -> None:
    _settle(changes, seq, entry.at_us, entry.deliveries, FINAL[entry.state], entry.reason)
    _keep_failed(changes, seq, entry.at_us, entry.deliveries, entry)
    _settle_journeys(changes, seq, entry, FINAL[entry.state], entry.reason)


def _resent(changes: Changes, seq: int, entry: DeliveryResent, facts: bytes, body: BodyAt) -> None:
    number = delivery_number(seq, 0)
    journey = number if entry.followed else 0
    _dealt_with(changes, seq, entry, (entry.delivery,))
    changes["insert_round"].append((seq, entry.transaction, entry.message, entry.copy, journey, entry.delivery))
    changes["insert_resent_delivery"].append(
        (number, entry.message, entry.copy, entry.hop, entry.content, entry.next, entry.sender, entry.at_us,
         entry.expires_at_us, journey, entry.origin)
    )  # fmt: skip
    if entry.followed:
        changes["insert_journey"].append((journey, number, entry.expires_at_us))
        if entry.answer:
            changes["move_journey"].append((number, JourneyLeg.BACK.value, seq, journey))


def _dropped(changes: Changes, seq: int, entry: DeliveriesDropped, facts: bytes, body: BodyAt) -> None:
    _dealt_with(changes, seq, entry, entry.deliveries)


def _released(changes: Changes, seq: int, entry: DeliveriesReleased, facts: bytes, body: BodyAt) -> None:
    changes["insert_released"].append(
        (seq, entry.service, entry.up_to, entry.waiting, entry.at_us, entry.by, entry.reason)
    )


def _dealt_with(
    changes: Changes, seq: int, entry: DeliveryResent | DeliveriesDropped, deliveries: tuple[int, ...]
) -> None:
    for key in unique_keys(entry):
        changes["insert_seen"].append((key, "", seq))
    for number in deliveries:
        changes["deal_with"].append((seq, number))


def _configuration(changes: Changes, seq: int, entry: ConfigurationChanged, facts: bytes, body: BodyAt) -> None:
    for change in entry.objects:
        if change.kind == LEVEL_KIND:
            require_readable(read_level(change.value))
        value = b"" if change.value is None else pack_value(change.value)
        row = (change.kind, change.key, change.version, value, entry.at_us, entry.by)
        changes["save_object"].append((*row, seq))
        changes["insert_object_version"].append((*row, entry.reason, seq))
        changes["insert_seen"].append((version_key(change.kind, change.key, change.version), "", seq))


def _billed(changes: Changes, seq: int, entry: BillingJournalEntry, facts: bytes, body: BodyAt) -> None:
    kind, key, value = record_value(entry)
    row = (kind, key, FIRST_VERSION, pack_value(value), entry.at_us, entry.by)
    changes["save_object"].append((*row, seq))
    changes["insert_object_version"].append((*row, "", seq))
    for unique in billing_keys(entry):
        changes["insert_seen"].append((unique, "", seq))


def _restored(changes: Changes, seq: int, entry: NetworkRestored, facts: bytes, body: BodyAt) -> None:
    value = Restore(seq=seq, cut=entry.cut, skip_numbers=entry.skip_numbers)
    row = ("restore", str(seq), FIRST_VERSION, pack_value(value), entry.at_us, entry.by)
    changes["save_object"].append((*row, seq))
    changes["insert_object_version"].append((*row, entry.reason, seq))


def _secret(changes: Changes, seq: int, entry: SecretChanged, facts: bytes, body: BodyAt) -> None:
    key, value = secret_object(entry)
    row = (SECRET, key, entry.version, b"" if value is None else pack_value(value), entry.at_us, entry.by)
    changes["save_object"].append((*row, seq))
    changes["insert_object_version"].append((*row, f"secret {entry.what}", seq))
    changes["insert_seen"].append((secret_version_key(entry), "", seq))


def _access(changes: Changes, seq: int, entry: AccessRecorded, facts: bytes, body: BodyAt) -> None:
    changes["insert_access"].append((seq, entry.at_us, entry.by, entry.what, entry.detail))


def _cross_reference(changes: Changes, seq: int, entry: CrossReferenceChanged, facts: bytes, body: BodyAt) -> None:
    place = (entry.owner, entry.map.casefold())
    for record in entry.records:
        key = msgspec.structs.astuple(record.key)
        changes["save_reference"].append((*place, *key, pack_pairs(record.pairs), entry.at_us, seq))
    for one, other in entry.relations:
        ends = msgspec.structs.astuple(one), msgspec.structs.astuple(other)
        changes["insert_relation"].append((*place, *ends[0], *ends[1], seq))
        changes["insert_relation"].append((*place, *ends[1], *ends[0], seq))


def _settle_journeys(
    changes: Changes, seq: int, entry: DeliveriesAcknowledged | DeliveriesEnded, state: DeliveryState, reason: str
) -> None:
    if not entry.journeys and entry.batch is None:
        return
    for key in unique_keys(entry):
        changes["insert_seen"].append((key, "", seq))
    if entry.batch is not None:
        _save_batch(changes, seq, entry.batch)
    for journey in entry.journeys:
        changes["settle_journey"].append((state.value, entry.at_us, reason, seq, journey))


def _keep_failed(
    changes: Changes, seq: int, at_us: int, deliveries: tuple[int, ...], end: JourneyEnding | DeliveriesEnded
) -> None:
    """Store deliveries of failed copies as dead letters, also if they were acknowledged before."""
    if FINAL[end.state] is DeliveryState.FAILED:
        code = end.why.code if end.why is not None else ""
        for number in deliveries:
            changes["keep_dead_letter"].append((at_us, end.reason, code, seq, number))


def _settle(
    changes: Changes, seq: int, at_us: int, deliveries: tuple[int, ...], state: DeliveryState, reason: str
) -> None:
    settle, value = changes["settle"], state.value
    for number in deliveries:
        settle.append((value, at_us, reason, seq, number))


PROJECTORS: dict[type, Callable[[Changes, int, Any, bytes, BodyAt], None]] = {
    MessagePosted: _posted,
    MessageRefused: _refused,
    InvocationReturned: _returned_invocation,
    DeliveriesLeased: _leased,
    DeliveriesReturned: _returned,
    DeliveryAttempted: _returned,
    DeliveryTranslated: _translated,
    DeliveriesAcknowledged: _acknowledged,
    DeliveriesEnded: _ended,
    ConfigurationChanged: _configuration,
    AccessRecorded: _access,
    CrossReferenceChanged: _cross_reference,
    DeliveryResent: _resent,
    DeliveriesDropped: _dropped,
    DeliveriesReleased: _released,
    BatchesChanged: _batches_changed,
    InterchangeAnswered: _interchange_answered,
    InvoiceIssued: _billed,
    InvoiceCredited: _billed,
    PaymentRecorded: _billed,
    NetworkRestored: _restored,
    SecretChanged: _secret,
}
