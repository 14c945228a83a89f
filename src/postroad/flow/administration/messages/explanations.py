"""Explanations of routes, for posted and hypothetical messages, limited to what the caller may see.

Rules: a service explains as itself, a person as a service of their organization. A posted message is explained to the
parties that took part in it, limited to their part. When a person reads which values rules saw in a message, this is
recorded like access to its payload.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.message import Message
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import RouteExplanation
from postroad.core.visibility.pseudonyms import is_pseudonym
from postroad.core.visibility.redact_explanation import redact_explanation, redact_foreign_rules, takes_part_by_rules
from postroad.core.visibility.viewer import Viewer
from postroad.errors import Refused
from postroad.flow.administration.base import not_found
from postroad.flow.administration.messages import message_list as reading
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.network import Network
from postroad.ports import JournalStep


async def explain_hypothetical(network: Network, caller: Caller, message: Message) -> RouteExplanation:
    """Explain how the message would be routed now; nothing is stored or sent."""
    found = await network.explain(find_sender(caller, network.directory, message), message)
    return as_asked(caller, network.directory, found)


def as_asked(caller: Caller, directory: Directory, found: RouteExplanation) -> RouteExplanation:
    """An explanation of the caller's own message: without entry numbers, and for a service with its own rules only."""
    if caller.service is not None:
        found = redact_foreign_rules(found, Viewer.of_party(caller, directory))
    return found if caller.operator else replace(found, directory=0)


def find_sender(caller: Caller, directory: Directory, message: Message) -> Caller:
    """Return the sender to assume: the service itself, or one that a person names, at the highest security level."""
    if caller.service is not None:
        return caller
    service = directory.service(message.sender) if message.sender else None
    if service is None or not can_explain_for(caller, service):
        detail = "Set From to the service of your organization that would post this"
        raise Refused("sender.unknown", detail, pointer="/from")
    return Caller.inside(service)


def can_explain_for(caller: Caller, service: Service) -> bool:
    """Whether a person may see explanations for this service's messages."""
    return caller.can_view(service.organization)


async def explain_stored(network: Network, caller: Caller, session: str) -> RouteExplanation:
    """Explain the route of a posted message, as far as the caller took part in it."""
    if not SESSION.match(session):
        raise not_found()
    found = await network.explanation(session, None if caller.operator else caller.organization)
    if found is None:
        raise not_found()
    if caller.operator:
        return found
    seen = replace(await _as_seen(network, caller, found, session), directory=0)
    if caller.person is not None and seen.services:
        entry = AccessRecorded(at_us=network.clock.now_us(), by=caller.name, what="explanation.read", detail=session)
        await commit_step(network.desk, JournalStep(entry, reserve=True))
    return seen


async def _as_seen(network: Network, caller: Caller, found: RouteExplanation, session: str) -> RouteExplanation:
    viewer = Viewer.of_party(caller, network.directory)
    sender = network.directory.service(found.sender)
    if sender is not None and viewer.owns(sender.gcid):
        return redact_foreign_rules(found, viewer)
    cut = redact_explanation(found, viewer, hidden=is_pseudonym(session))
    if cut is None:
        raise not_found()
    if not takes_part_by_rules(cut, viewer):
        await reading.load_message(network, caller, session)  # 404 for services that it has not reached yet
    return replace(cut, session=session)
