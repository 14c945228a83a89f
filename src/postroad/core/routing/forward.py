"""Forwarded messages: grouped so that each group fits one journal entry, and routed to their receivers.

Rules: parts have the same names when a delivery is offered again, so that nothing is forwarded twice. A forward to
another exchange is separate: by however many paths a message came, it is forwarded there once. A document from an
interchange is a message of its own.

Only services that bound a queue or attached a service receive a message from there. The rules of each receiver apply
to its copy as if the exchange had sent it. An error of one receiver never affects another's copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.admission.connection_rights import is_open_to
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Routing, Service
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.message import Part, Property
from postroad.core.model.route import Copy, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.message_subject import party_of, posted_subject
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.itinerary import Routed
from postroad.core.routing.layout import check_delivered, lay_out
from postroad.core.routing.rules.dynamic_routing import apply_dynamic_rules
from postroad.core.routing.rules.evaluation import RuleEvaluation, find_provider, has_rules
from postroad.errors import Refused

UNCHANGED = ""
NOT_OPEN = make_reason(
    "permission.denied",
    detail="the exchange or model is not open to this service any more; ask its owner to list it in openTo",
)
MAX_COPIES = 10_000  # in one entry; more are grouped by the first two digits of their GCIDs, which are stable
RELAYS = (Hosting.EXCHANGE, Hosting.MODEL)  # hostings that forward messages themselves
FORWARDING = (*RELAYS, Hosting.SPLITTER)  # messages that these cannot process become their dead letters
MAX_DISTINCTIONS = (
    3  # exchanges that forward different contents of a message separately; after these, only the first continues
)


class Forward(Struct, gc=False, frozen=True):
    """A receiver, and the binding that selected it; ``part`` replaces the content, None leaves it unchanged."""

    receiver: str  # GCID
    chosen_by: str
    part: Part | None = None
    alone: bool = False  # the part is a message of its own, without other parts
    topic: str | None = None  # None: unchanged
    properties: tuple[Property, ...] | None = None  # None: unchanged
    assembled: AssembledInterchange | None = (
        None  # the part is an interchange made by the forwarder, which is its sender
    )
    once: int = 0  # a key that must not have been used by another delivery


def is_relayed(forward: Forward, directory: Directory) -> bool:
    """True if the receiver forwards messages itself."""
    return directory.services[forward.receiver].hosted in RELAYS


def with_content(parts: Sequence[Part], made: Part) -> tuple[Part, ...]:
    """Return the parts of a message, with one of them replaced by a binding's result."""
    others = tuple([made if part.id == made.id else part for part in parts])
    return others if made in others else (made, *others)


def content_name(through: Sequence[str], parts: Sequence[Part]) -> str:
    """Return a digest that distinguishes contents of one message; empty after too many relays."""
    if len(through) > MAX_DISTINCTIONS:
        return ""
    return blake2b(b"".join([part.data for part in parts]), digest_size=16).hexdigest()


def split_forwards(forwards: Sequence[Forward], directory: Directory) -> dict[str, list[Forward]]:
    """Group forwards by journal entry, under names that are stable when the delivery is repeated.

    The unchanged message goes to each receiver once, however many bindings chose it. A binding's result is separate,
    and so is every forward to another exchange.
    """
    steps: dict[str, list[Forward]] = defaultdict(list)
    as_it_came = {one.receiver: one for one in reversed(forwards) if one.part is None}
    parted = len(as_it_came) > MAX_COPIES
    for receiver, one in sorted(as_it_came.items()):
        if is_relayed(one, directory):
            steps[f">{receiver}"].append(one)
        else:
            steps[receiver[:2] if parted else UNCHANGED].append(one)
    for one in forwards:
        if one.part is not None:
            steps[f"={one.chosen_by}"].append(one)
    return steps


def forwarded_copies(
    admitted: Admitted,
    written_by: str,
    receivers: Sequence[Service],
    directory: Directory,
    form: str,
    subject: Callable[[], Subject] | None = None,
) -> Routed:
    """Return one copy for each receiver, in order; unreachable ones carry the reason.

    ``written_by`` is the GCID of the service that is shown as the sender. ``subject`` creates the message as posted,
    which other callers may share.
    """
    make = subject or (lambda: posted_subject(admitted, directory, form))
    elaboration = RuleEvaluation(directory, lambda: _subject(make(), written_by, directory))
    sender = Invocation(admitted.sender, RuleRole.SENDER)
    copies = [
        _straight(receiver, admitted.sender)
        if _is_straight(receiver, admitted.sender, directory)
        else _ruled_copy(receiver, sender, elaboration)
        for receiver in receivers
    ]
    return Routed(tuple(copies), tuple(elaboration.tried))


def find_closed_receivers(host: str, receivers: Iterable[str], directory: Directory) -> set[str]:
    """Return the GCIDs of receivers of other organizations to which the exchange or model is not open."""
    service = directory.services.get(host)
    if service is None:
        return set(receivers)
    return {gcid for gcid in receivers if not is_open_to(service, directory.services[gcid], directory)}


def _subject(subject: Subject, written_by: str, directory: Directory) -> Subject:
    writer = directory.services.get(written_by)
    if writer is None:
        return subject
    return subject.restrict(replace(subject.view.header, shown_sender=party_of(writer)), subject.view.parts)


def _is_straight(receiver: Service, sender: Service, directory: Directory) -> bool:
    """True if no rules apply, so that the message goes directly to the receiver."""
    if receiver.gcid == sender.gcid and not directory.is_suspended(receiver):
        return True
    if receiver.logical_only or receiver.routing is Routing.DYNAMIC or directory.is_suspended(receiver):
        return False
    return not has_rules(receiver, RuleRole.RECIPIENT, directory) and not find_provider(receiver, sender, directory)


def _straight(receiver: Service, sender: Service) -> Copy:
    return Copy(receiver.address, (Hop(receiver.gcid, (), sender.gcid),))


def _ruled_copy(receiver: Service, sender: Invocation, elaboration: RuleEvaluation) -> Copy:
    try:
        if elaboration.directory.is_suspended(receiver):
            raise Refused("recipient.suspended", f"{receiver.address} is suspended")
        node = elaboration.bring_in(receiver, sender, (), RuleRole.RECIPIENT)
        elaboration.elaborate([node])
        check_delivered(node)
        route = apply_dynamic_rules(lay_out([node]), 0, elaboration, sender.service)
    except Refused as refusal:
        return Copy(receiver.address, (), refusal.code, refusal.detail)
    return Copy(receiver.address, route.hops, logical=route.logical)
