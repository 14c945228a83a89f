"""Explanations for those who may have them: of a message that somebody could post, and of one that was posted.

Kept rules: a service explains as itself, a person as a service of their organization; what was posted is explained to those who
took part in it, as far as they did; a person who reads what rules saw in a message is on record, as for its payload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from postroad.core.audit.party_view import as_party, takes_part_by_rules, with_own_rules
from postroad.core.identity.veil import is_pseudonym
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Service
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import AccessRecorded
from postroad.core.model.message import Message
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explanation import Explanation
from postroad.errors import Refused
from postroad.flow import administration_messages as reading
from postroad.flow.administration import not_found
from postroad.flow.commit import committed
from postroad.flow.network import Network
from postroad.ports import Step


async def hypothetical(network: Network, caller: Caller, message: Message) -> Explanation:
    """Which way the message would go if it were posted now; nothing is stored or sent."""
    found = await network.explain(sender_for(caller, network.directory, message), message)
    return as_asked(caller, network.directory, found)


def as_asked(caller: Caller, directory: Directory, found: Explanation) -> Explanation:
    """An explanation of the caller's own message: without entry numbers, and for a service with its own rules only."""
    if caller.service is not None:
        found = with_own_rules(found, owns(caller, directory))
    return found if caller.operator else replace(found, directory=0)


def sender_for(caller: Caller, directory: Directory, message: Message) -> Caller:
    """Who would post it: the service itself; or the one that a person names, as if it came over the safest line there is."""
    if caller.service is not None:
        return caller
    service = directory.service(message.sender) if message.sender else None
    if service is None or not may_speak_for(caller, service):
        detail = "Say in From which service of your organization would post this"
        raise Refused("sender.unknown", detail, pointer="/from")
    return Caller(service=service, level=AuthenticationLevel.CERTIFICATE, secure=True)


def may_speak_for(caller: Caller, service: Service) -> bool:
    """Whether a person may see what would become of this service's messages."""
    return caller.operator or service.organization.casefold() == caller.organization.casefold()


async def stored(network: Network, caller: Caller, session: str) -> Explanation:
    """Why a posted message went its way, as far as the caller took part in it."""
    if not SESSION.match(session):
        raise not_found()
    found = await network.explanation(session, None if caller.operator else caller.organization)
    if found is None:
        raise not_found()
    if caller.operator:
        return found
    seen = replace(await _as_seen(network, caller, found, session), directory=0)
    if caller.person is not None and seen.services:
        entry = AccessRecorded(network.clock.now_us(), caller.name, "explanation.read", session)
        await committed(network.desk, Step(entry, reserve=True))
    return seen


async def _as_seen(network: Network, caller: Caller, found: Explanation, session: str) -> Explanation:
    mine = owns(caller, network.directory)
    sender = network.directory.service(found.sender)
    if sender is not None and mine(sender.gcid):
        return with_own_rules(found, mine)
    cut = as_party(found, mine, hidden=is_pseudonym(session))
    if cut is None:
        raise not_found()
    if not takes_part_by_rules(cut, mine):
        await reading.message(network, caller, session)  # whom it has not reached does not know of it yet
    return replace(cut, session=session)


def owns(caller: Caller, directory: Directory) -> Callable[[str], bool]:
    """Whether a service is the caller's own: itself, or one of their organization."""
    if caller.service is not None:
        own = caller.service.gcid
        return lambda gcid: gcid == own
    mine = {service.gcid for service in directory.services_of(caller.organization)} if caller.organization else set()
    return lambda gcid: gcid in mine
