"""Find messages by anything they are known by: session, token, the sender's handle.

Kept rule: nobody finds what they could not open; whoever may not know of a message is told that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import SESSION
from postroad.core.projection.keys import handle_key
from postroad.errors import Refused
from postroad.flow import administration_messages as reading
from postroad.flow.administration_services import owned_services
from postroad.flow.network import Network

FOUND_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    session: str
    at_us: int
    sender: str
    handle: str
    by: str  # what was known of it: session, token, handle …


async def found_messages(network: Network, caller: Caller, asked: str) -> list[FoundMessage]:
    """All that the caller may see and that is known by this, newest first."""
    candidates = [*_by_session(asked), *await _by_token(network, asked), *await _by_handle(network, caller, asked)]
    found = {session: by for by, session in reversed(candidates)}
    shown = [await _seen(network, caller, session, by) for session, by in list(found.items())[:FOUND_MOST]]
    return sorted([one for one in shown if one is not None], key=lambda one: -one.at_us)


Candidates = list[tuple[str, str]]  # by what, and the session


def _by_session(asked: str) -> Candidates:
    return [("session", asked.lower())] if SESSION.match(asked.lower()) else []


async def _by_token(network: Network, asked: str) -> Candidates:
    number = network.tokens.number(asked)
    found = await network.desk.find(number) if number is not None else None
    if found is None:
        return []
    queued: Queued = found.queued
    return [("token", queued.message.session)]


async def _by_handle(network: Network, caller: Caller, asked: str) -> Candidates:
    found: Candidates = []
    for service in owned_services(caller, network.directory):
        seen = await network.desk.seen(handle_key(service.gcid, asked))
        if seen is not None and seen[1]:
            found.append(("handle", seen[1]))
    return found


async def _seen(network: Network, caller: Caller, session: str, by: str) -> FoundMessage | None:
    try:
        message = await reading.message(network, caller, session)
    except Refused:
        return await _refused(network, caller, session, by)
    return FoundMessage(
        session=message.session, at_us=message.at_us, sender=message.sender, handle=message.handle, by=by
    )


async def _refused(network: Network, caller: Caller, session: str, by: str) -> FoundMessage | None:
    try:
        row = await reading.refusal(network, caller, session)
    except Refused:
        return None
    return FoundMessage(session=session, at_us=row["at_us"], sender="", handle=row["handle"], by=f"{by}, refused")
