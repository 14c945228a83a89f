"""Builds the views of a message that rules evaluate: as posted, in transit, and as a response."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from postroad.core.admission.admit import Admitted
from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.delivery.document_access import access_of, readable_parts
from postroad.core.model.contexts import truncate_to_second
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Service
from postroad.core.model.message import MessageType, Part, Property, Recipient
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.subject import Addressed, NamedService, RuleHeader, Subject
from postroad.core.routing.invocation import Invocation
from postroad.errors import Refused


def party_of(service: Service) -> NamedService:
    return NamedService(address=service.address, gcid=service.gcid, organization=service.organization)


def posted_subject(admitted: Admitted, directory: Directory, form: str = "", budget: Budget | None = None) -> Subject:
    """Return a message as posted."""
    message = admitted.message
    header = RuleHeader(
        sender=party_of(admitted.sender),
        to=tuple([_addressed(recipient, admitted.sender, directory) for recipient in message.to]),
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        expires_at_us=admitted.expires_at_us,
        route=tuple([_named_by(admitted.sender, stop.service, directory) for stop in message.route]),
        route_arguments=tuple([argument for stop in message.route for argument in stop.arguments]),
        routing=message.routing,
        properties=message.properties,
        status=message.status,
        posted_at_us=admitted.at_us,
        form=form,
    )
    return Subject(header=header, parts=message.parts, budget=budget)


def travelling_subject(
    queued: Queued,
    parts: tuple[Part, ...],
    properties: tuple[Property, ...],
    directory: Directory,
    budget: Budget | None = None,
) -> Subject:
    """Return a message in transit, with its current parts and context."""
    message = queued.message
    named = message.copies[queued.copy].named
    header = RuleHeader(
        sender=_party(message.sender, directory),
        to=(Addressed(party=_party(named, directory), arguments=queued.hops[-1].arguments),),
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        reference=message.answers.session if message.answers else "",
        expires_at_us=queued.expires_at_us,
        routing=message.routing,
        properties=properties,
        status=message.status,
        posted_at_us=message.at_us,
        form=message.form,
        shown_sender=_party(message.shown_sender, directory) if message.shown_sender else None,
    )
    return Subject(header=header, parts=parts, budget=budget)


def view_for_service(node: Invocation, subject: Subject, directory: Directory) -> Subject:
    """Return the message as an invoked service and its rules may see it.

    An in-transit service does not see the documents that the sender withholds from it, nor the arguments of others.
    An isolated service sees its isolator as the sender, and not the wider route. A recipient, and the
    services it includes, see no other recipients.
    """
    header, parts = subject.view.header, subject.view.parts
    if header.route_arguments and node.role is not RuleRole.SENDER:
        header = replace(header, route_arguments=())
    if node.role is RuleRole.IN_TRANSIT:
        sender = directory.services.get(header.sender.gcid)
        parts = readable_parts(parts, access_of(sender, _responsible_services(node), directory))
        header = _without_arguments(header)
    if node.root.role is RuleRole.RECIPIENT and len(header.to) > 1:  # other recipients are hidden from it
        arguments = node.root.arguments if node.role is not RuleRole.IN_TRANSIT else ()
        header = replace(header, to=(Addressed(party=party_of(node.root.service), arguments=arguments),))
    header = _between_hidden_parties(header, node)
    if node.shown_sender:
        header = _isolated(header, node, directory)
    return subject if header is subject.view.header and parts is subject.view.parts else subject.restrict(header, parts)


def _without_arguments(header: RuleHeader) -> RuleHeader:
    if not any(addressed.arguments for addressed in header.to):
        return header
    return replace(header, to=tuple([Addressed(party=addressed.party) for addressed in header.to]))


def _responsible_services(node: Invocation) -> Iterator[str]:
    """Yield the GCIDs of the service and of those it represents or that isolate it, as ``access_at`` does."""
    yield node.service.gcid
    above = node.invoker
    while above is not None and above.role is RuleRole.IN_TRANSIT and (node.through or node.shown_sender):
        yield above.service.gcid
        node, above = above, above.invoker


def _between_hidden_parties(header: RuleHeader, node: Invocation) -> RuleHeader:
    """Redact the header of a response for one side, if requester and responder are hidden from each other."""
    if node.root.role is RuleRole.SENDER and header.shown_requester is not None:
        expires_at_us = truncate_to_second(header.expires_at_us)  # taken from the request
        to = (Addressed(party=header.shown_requester),)
        return replace(header, to=to, reference="", expires_at_us=expires_at_us)
    if node.root.role is not RuleRole.SENDER and header.shown_sender is not None:
        return replace(header, sender=header.shown_sender)
    return header


def _isolated(header: RuleHeader, node: Invocation, directory: Directory) -> RuleHeader:
    in_transit = node.role is RuleRole.IN_TRANSIT
    own = (Addressed(party=party_of(node.service), arguments=node.arguments),)
    return replace(
        header,
        sender=_party(node.shown_sender, directory),
        to=own,
        type=MessageType.REQUEST if in_transit else header.type,
        handle="",
        reference="",
        route=(),
        routing="",
        posted_at_us=truncate_to_second(header.posted_at_us),  # an exact time would identify the message
        expires_at_us=truncate_to_second(header.expires_at_us),
    )


def _addressed(recipient: Recipient, sender: Service, directory: Directory) -> Addressed:
    return Addressed(party=_named_by(sender, recipient.service, directory), arguments=recipient.arguments)


def _named_by(sender: Service, name: str, directory: Directory) -> NamedService:
    """Return the service that the sender named; just the name if the sender may not send to it."""
    try:
        return party_of(find_permitted_recipient(sender, name, directory))
    except Refused:
        return NamedService(address=name)


def _party(name: str, directory: Directory) -> NamedService:
    service = directory.service(name)
    return party_of(service) if service is not None else NamedService(address=name)


def response_subject(
    admitted: Admitted,
    answered: Queued,
    requester: Service,
    directory: Directory,
    shown_sender: str = "",
    budget: Budget | None = None,
) -> Subject:
    """Return a response on its way to the requester, which sees ``shown_sender`` as the sender if that is set."""
    message = admitted.message
    header = RuleHeader(
        sender=party_of(admitted.sender),
        to=(Addressed(party=party_of(requester)),),
        type=message.type,
        topic=message.topic or answered.message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        reference=answered.message.session,
        expires_at_us=answered.expires_at_us,
        properties=message.properties,
        status=message.status,
        posted_at_us=admitted.at_us,
        shown_sender=_party(shown_sender, directory) if shown_sender else None,
        shown_requester=_party(answered.shown_sender, directory) if answered.shown_sender else None,
    )
    return Subject(header=header, parts=message.parts, budget=budget)
