"""Journal entries: the facts from which everything else is derived.

An entry is one complete decision: its kind is a past participle, its fields are time, actor, object and details. A step of the
flow writes one entry, completely or not at all. Fields are only added at the end, with a default; a kind never changes its
meaning. Bodies are stored beside entries, which list their parts and sizes. ``by``: a GCID, an e-mail address, or ``network``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from postroad.core.model.batch import Batch, BatchMember
from postroad.core.model.billing_entries import BillingJournalEntry
from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.exchange import Forwarded
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange
from postroad.core.model.message import MessageType, Property, Status
from postroad.core.model.part_facts import MessageArrival, PartFacts
from postroad.core.model.reason import Reason
from postroad.core.model.route import Copy, Hop
from postroad.core.model.secret_entries import SecretChanged

BY_NETWORK = "network"  # the actor, and the form of messages, if no client is involved


class ReturnedContext(Struct, gc=False, frozen=True, array_like=True):
    """The properties an invoked service added to the context of this invocation when it returned."""

    context: int
    properties: tuple[Property, ...]


class JourneyEnding(Struct, gc=False, frozen=True, array_like=True):
    """The end of a journey, and of its current delivery, for any reason but a response that reached the sender."""

    journey: int
    delivery: int
    state: str
    reason: str
    why: Reason | None = None  # the code of the reason; None in older entries


class AnsweredDelivery(Struct, gc=False, frozen=True, array_like=True):
    """The delivery that a response answers, and what the requester needs to match it."""

    delivery: int
    session: str
    handle: str = ""
    journey: int = 0  # the request's copy whose journey ends when the requester has the response
    shown_requester: str = ""  # GCID that the responder sees as the requester; empty: the real one


class MessagePosted(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="message.posted"):
    """A post was authenticated, admitted, routed and queued; the client gets success only once this entry is durable."""

    at_us: int
    session: str
    transaction: str
    sender: str  # GCID
    type: MessageType
    topic: str
    size: int  # bytes of the documents and attachments; where ``wire_size`` is -1 (older entries), bytes on the wire
    form: str  # wire form: json, soap11, soap12, envelope; soap, swa, dime, mime, as2, cloudevents
    expires_at_us: int
    directory: int  # version of the directory under which it was admitted and routed
    parts: tuple[PartFacts, ...]
    copies: tuple[Copy, ...]
    handle: str = ""
    possible_duplicate: bool = False
    properties: tuple[Property, ...] = ()
    status: Status | None = None
    answers: AnsweredDelivery | None = None
    idempotency: str = ""  # the poster's Idempotency-Key
    fingerprint: str = ""  # of the wire bytes, to compare repetitions of an Idempotency-Key
    keys: tuple[int, ...] = ()  # hashes of keys that must be unique; computed for entries that lack them
    explained: int = 0  # bytes after the parts in the body: the rules that were tried, and the values they saw
    ends: JourneyEnding | None = None  # for an error response of the network: the journey that ended
    shown_sender: str = ""  # GCID that the receiver sees as sender: the service that redirected the request
    routing: str = ""  # static or dynamic, if the sender set it for all services of the route
    arrival: MessageArrival | None = None  # how it arrived, if it was in an external format
    forwarded: Forwarded | None = None  # if its sender is an exchange or a model; ``shown_sender`` posted it
    assembled: AssembledInterchange | None = None  # if it is an interchange; its sender is a batcher or a splitter
    search_keys: tuple[tuple[str, str], ...] = ()  # search keys that its sender and receivers declare: name, value
    wire_size: int = -1  # bytes on the wire, as it arrived; 0: made inside the network; -1: see ``size``
    trace: bytes = b""  # the sender's W3C trace context, as ``core.telemetry.trace_context`` stores it


class MessageRefused(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="message.refused"):
    """A post was rejected, and why; its documents are not kept. The body, if any, is the explanation of its route."""

    at_us: int
    session: str  # given to refused posts too, so that support can find them
    sender: str  # GCID of the authenticated poster, or empty
    code: str
    detail: str
    size: int  # bytes of the documents and attachments, 0 if the post could not be read; else as in MessagePosted
    form: str
    handle: str = ""
    named: tuple[str, ...] = ()
    wire_size: int = -1  # as in MessagePosted
    type: str = ""  # of the message; empty if the post could not be read
    topic: str = ""
    parts: tuple[PartFacts, ...] = ()
    copies: tuple[Copy, ...] = ()  # one for each recipient, with the code of its refusal
    explained: int = 0  # as in MessagePosted
    directory: int = 0  # version of the directory under which it was refused
    trace: bytes = b""  # as in MessagePosted


class InvocationReturned(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="invocation.returned"):
    """An in-transit service returned the (changed) message, which continues to the next hop of its copy."""

    at_us: int
    delivery: int  # the answered delivery; the response acknowledges it
    session: str
    transaction: str
    by: str
    message: int  # seq of the MessagePosted entry
    copy: int
    hop: int  # index of the next hop
    next: str  # GCID of the next service
    size: int  # as in MessagePosted, of the changed message
    expires_at_us: int
    parts: tuple[PartFacts, ...]
    keys: tuple[int, ...] = ()  # as in MessagePosted
    journey: int = 0  # the copy that continues, if its journey is followed
    hops: tuple[Hop, ...] = ()  # the whole route from now on, if dynamic rules have changed it
    logical: tuple[Hop, ...] = ()  # services that take part only by their rules
    returned: tuple[ReturnedContext, ...] = ()  # everything that invoked services have added to contexts so far
    status: Status | None = None  # an error of the service that its invoker absorbed
    explained: int = 0  # as in MessagePosted
    directory: int = 0  # version of the directory, if rules were tried
    wrapper_bytes: int = 0  # between parts and explanation: the message's wrapper, if it still applies
    wire_size: int = -1  # as in MessagePosted, of the service's post


class DeliveriesLeased(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.leased"):
    """A poll handed these deliveries out; they are redelivered unless acknowledged before the lease ends."""

    at_us: int
    by: str
    lease_s: float
    deliveries: tuple[int, ...]


class DeliveriesAcknowledged(
    Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.acknowledged"
):
    """The receiver has acknowledged these deliveries; they are final and never handed out again.

    The body, if there is one, is the signed MDN of an AS2 partner, unchanged.
    """

    at_us: int
    by: str
    deliveries: tuple[int, ...]
    journeys: tuple[int, ...] = ()  # copies whose journey this entry ends
    batch: Batch | None = None  # the batch of all these deliveries; its interchange has been delivered


class DeliveriesReturned(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.returned"):
    """The receiver gave these deliveries back (negative acknowledgment)."""

    at_us: int
    by: str
    reason: str
    delay_s: float
    deliveries: tuple[int, ...]


class DeliveryAttempted(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.attempted"):
    """A push did not end the delivery; it keeps waiting, and is pushed again after the delay."""

    at_us: int
    by: str  # GCID of the receiving service
    deliveries: tuple[int, ...]  # the pushed delivery; a tuple as in all entries about waiting deliveries
    status: int  # of the receiver's HTTP response; 0: no response
    duration_ms: int
    fault: str  # the error, in words
    delay_s: float
    why: Reason | None = None  # the code of the error; None in older entries

    @property
    def reason(self) -> str:
        return f"push failed: {self.fault}" if self.is_put_off else self.fault

    @property
    def is_put_off(self) -> bool:
        """True if the push failed and the delivery waits for its next push; it may be polled before."""
        return not 200 <= self.status < 300


class DeliveryTranslated(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.translated"):
    """A delivery was encoded in its receiver's format, which could not carry everything."""

    at_us: int
    by: str  # GCID of the receiver
    delivery: int
    form: str  # in which the message arrived
    format: str  # in which it is handed out
    dropped: tuple[str, ...]  # one sentence for each omission


class DeliveriesEnded(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.ended"):
    """These deliveries reached a final state other than delivered: expired, cancelled, failed or rejected."""

    at_us: int
    by: str
    state: str
    reason: str
    deliveries: tuple[int, ...]
    journeys: tuple[int, ...] = ()  # copies whose journey this entry ends, with or without a waiting delivery
    batch: Batch | None = None  # that they were in, after they left it
    why: Reason | None = None  # the code of the reason; None in older entries


class DeliveryResent(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.resent"):
    """A dead letter was resent to the service where it failed; a new round begins there.

    The new delivery has this entry's number; so has its journey, if the copy is followed.
    """

    at_us: int
    by: str
    reason: str
    delivery: int  # the dead letter
    origin: int  # the first round's delivery, which the receiver may recognise
    session: str
    transaction: str
    sender: str  # GCID of the message's sender, or of the in-transit service before
    message: int  # seq of the MessagePosted entry
    copy: int
    hop: int
    content: int  # seq of the entry that has its content
    next: str  # GCID of the service it is delivered to
    expires_at_us: int
    followed: bool = False  # the round has its own journey
    answer: bool = False  # it is a response


class DeliveriesDropped(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.dropped"):
    """These dead letters were dropped; they stay failed."""

    at_us: int
    by: str
    reason: str
    deliveries: tuple[int, ...]


class DeliveriesReleased(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="delivery.released"):
    """Waiting deliveries of a service were released, up to a number."""

    at_us: int
    by: str
    service: str  # GCID of the receiving service
    reason: str
    up_to: int  # number of the newest released delivery
    waiting: int  # number of released deliveries


class BatchesChanged(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="batch.changed"):
    """Batches changed: messages joined, a batch was closed, paused, resumed or suspended …

    Joined messages keep waiting, and are not handed out until their batch is sent, or they leave it. Assembling,
    sending and dropping a batch are recorded by the entries that do so: ``message.posted``,
    ``delivery.acknowledged``, ``delivery.ended``.
    """

    at_us: int
    by: str
    service: str  # GCID of the batcher
    what: str  # joined, closed, held …, as in ``BATCH_MOVES``; rested, went on: at a clean stop and restart of the network
    batches: tuple[Batch, ...]  # after this entry
    batch: str = ""  # id of the batch that was joined
    joined: tuple[BatchMember, ...] = ()
    reason: str = ""  # as its author wrote it

    @property
    def deliveries(self) -> tuple[int, ...]:
        return tuple([member.number for member in self.joined])


class InterchangeAnswered(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="interchange.answered"):
    """A partner acknowledged an interchange (TA1, 997, 999, CONTRL, ACK), possibly one that was not sent from here."""

    at_us: int
    by: str  # GCID of the splitter that received it
    session: str  # of the acknowledgment's message
    standard: str
    batch: str  # id; empty if it matches nothing that was sent from here
    verdict: str
    members: tuple[AnsweredMember, ...] = ()  # only members with another status than the whole
    detail: str = ""


class CrossReferenceChanged(
    Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="crossreference.changed"
):
    """Records were saved in a cross-reference map, or related to each other."""

    at_us: int
    by: str  # GCID of the service that requested it
    owner: str  # GCID of the service that owns the map
    map: str  # its name
    records: tuple[CrossReferenceRecord, ...] = ()  # saved under their keys
    relations: tuple[tuple[Key, Key], ...] = ()  # keys that belong together from now on
    session: str = ""  # of the message that caused it


class ObjectChange(Struct, frozen=True, array_like=True):
    """A configuration object after the change; ``value`` None: it was removed."""

    kind: str
    key: str
    version: int
    value: dict[str, Any] | None


class ConfigurationChanged(Struct, frozen=True, array_like=True, tag_field="kind", tag="configuration.changed"):
    """Objects of the directory (or rules, bindings …) were saved or removed, all at once."""

    at_us: int
    by: str
    reason: str
    objects: tuple[ObjectChange, ...]


class AccessRecorded(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="access.recorded"):
    """A failed authentication, or an access that must be recorded."""

    at_us: int
    by: str
    what: str
    detail: str = ""


class NetworkRestored(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="network.restored"):
    """The network was restored from a backup, up to the entry ``cut``; what happened after it is not known any more.

    Messages posted before this entry are handed out as possible duplicates, and number series skip some numbers.
    """

    at_us: int
    by: str
    cut: int  # number of the last entry that was restored; this entry follows it
    chain: bytes  # the journal's chain value after that entry
    reason: str
    skip_numbers: int  # control numbers that each series skips, because they may have been used after the cut
    backup: int = 0  # number of the last entry of the backup; entries between ``cut`` and this one were left out


Entry = (
    MessagePosted
    | MessageRefused
    | InvocationReturned
    | DeliveriesLeased
    | DeliveriesAcknowledged
    | DeliveriesReturned
    | DeliveriesEnded
    | ConfigurationChanged
    | AccessRecorded
    | CrossReferenceChanged
    | DeliveryAttempted
    | DeliveryResent
    | DeliveriesDropped
    | DeliveryTranslated
    | DeliveriesReleased
    | BatchesChanged
    | InterchangeAnswered
    | BillingJournalEntry
    | NetworkRestored
    | SecretChanged
)

KINDS: tuple[str, ...] = tuple(kind.__struct_config__.tag for kind in Entry.__args__)


def peek_kind(facts: bytes) -> str:
    """Return the kind of an encoded entry without decoding it."""
    start = 3 if facts[0] == 0xDC else 1  # after the head of an array of more than 15 fields, or of fewer
    return facts[start + 1 : start + 1 + (facts[start] & 0x1F)].decode()


encode: Callable[[Entry], bytes] = msgspec.msgpack.Encoder().encode
decode: Callable[[bytes], Entry] = msgspec.msgpack.Decoder(Entry).decode
