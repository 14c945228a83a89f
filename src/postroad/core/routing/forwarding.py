"""The routes of a message that an exchange or a model forwards: straight to those it is for, by their own rules alone.

Kept rules: whoever has bound a queue or attached a service wants what comes from there, so nobody else is asked; the rules of
each receiver lead its copy as if the exchange had written to it; one receiver's fault never touches another's copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.admission.openness import is_open_to
from postroad.core.model.directory import Routing, Service
from postroad.core.model.journal import Copy, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.elaboration import Elaboration, has_rules, stands_for
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.itinerary import Routed
from postroad.core.routing.layout import check_delivered, lay_out
from postroad.core.routing.message_subject import party_of, posted_subject
from postroad.core.routing.reaching import reach
from postroad.core.routing.subject import Subject
from postroad.errors import Refused


def forwarded_copies(
    admitted: Admitted,
    written_by: str,
    receivers: Sequence[Service],
    directory: Directory,
    form: str,
    subject: Callable[[], Subject] | None = None,
) -> Routed:
    """One copy for each receiver, in their order; those that cannot be reached say why.

    ``written_by`` is the GCID of who is shown as the sender; ``subject`` makes the message as posted, where somebody else looks
    at the same one.
    """
    make = subject or (lambda: posted_subject(admitted, directory, form))
    elaboration = Elaboration(directory, lambda: _subject(make(), written_by, directory))
    sender = Invocation(admitted.sender, RuleRole.SENDER)
    copies = [
        _straight(receiver, admitted.sender)
        if _is_straight(receiver, admitted.sender, directory)
        else _led(receiver, sender, elaboration)
        for receiver in receivers
    ]
    return Routed(tuple(copies), tuple(elaboration.tried))


def closed_to(host: str, receivers: Iterable[str], directory: Directory) -> set[str]:
    """Receivers of other houses to which the exchange or model is not open, or not any more; all are given by GCID."""
    service = directory.services.get(host)
    if service is None:
        return set(receivers)
    return {gcid for gcid in receivers if not is_open_to(service, directory.services[gcid], directory)}


def _subject(subject: Subject, written_by: str, directory: Directory) -> Subject:
    writer = directory.services.get(written_by)
    if writer is None:
        return subject
    return subject.given(replace(subject.view.header, shown_sender=party_of(writer)), subject.view.parts)


def _is_straight(receiver: Service, sender: Service, directory: Directory) -> bool:
    """Whether no rule has anything to say, as with most; what a service forwards to itself has passed its rules already."""
    if receiver.gcid == sender.gcid and not directory.is_suspended(receiver):
        return True
    if receiver.logical_only or receiver.routing is Routing.DYNAMIC or directory.is_suspended(receiver):
        return False
    return not has_rules(receiver, RuleRole.RECIPIENT, directory) and not stands_for(receiver, sender, directory)


def _straight(receiver: Service, sender: Service) -> Copy:
    return Copy(receiver.address, (Hop(receiver.gcid, (), sender.gcid),))


def _led(receiver: Service, sender: Invocation, elaboration: Elaboration) -> Copy:
    try:
        if elaboration.directory.is_suspended(receiver):
            raise Refused("recipient.suspended", f"{receiver.address} is suspended")
        node = elaboration.bring_in(receiver, sender, (), RuleRole.RECIPIENT)
        elaboration.elaborate([node])
        check_delivered(node)
        route = reach(lay_out([node]), 0, elaboration, sender.service)
    except Refused as refusal:
        return Copy(receiver.address, (), refusal.code, refusal.detail)
    return Copy(receiver.address, route.hops, logical=route.logical)
