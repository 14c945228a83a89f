"""Find messages by anything they are known by: session, token, handle, control number, a partner's reference, a business key.

Kept rules: nobody finds what they could not open; whoever may not know of a message is told that there is none. By what stands in
its documents a message is found by its sender and its receivers alone, and by what its sender calls it elsewhere by its sender:
nobody can guess at a document that was kept from them. A value that very many messages have is looked up to a bound.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.projection.found_by import HEADER_NAMES, SENDERS_NAMES, found_key, is_known_by
from postroad.core.projection.keys import handle_key
from postroad.errors import Refused
from postroad.flow import administration_messages as reading
from postroad.flow.administration_contents import Mine, is_mine
from postroad.flow.administration_services import owned_services
from postroad.flow.network import Network

FOUND_MOST = 50
LOOKED_MOST = 4_000  # entries with the same hash that are looked at, however few of them the caller may see
PORTION = 500
SENDERS_MOST = 50  # services whose handles of long ago are looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    session: str
    at_us: int
    sender: str
    handle: str
    by: str  # what was known of it: session, token, handle …
    recipients: tuple[str, ...] = ()
    state: str = ""


async def found_messages(network: Network, caller: Caller, asked: str) -> list[FoundMessage]:
    """All that the caller may see and that is known by this, newest first."""
    found: dict[str, FoundMessage] = {}
    async for by, session in _candidates(network, caller, asked):
        if len(found) == FOUND_MOST:
            break
        one = await _seen(network, caller, session, by) if session not in found else None
        if one is not None:
            found[session] = one
    return sorted(found.values(), key=lambda one: -one.at_us)


async def _candidates(network: Network, caller: Caller, asked: str) -> AsyncIterator[tuple[str, str]]:
    """By what, and the session; the most certain first, and what costs most only where nothing else was there."""
    if SESSION.match(asked.lower()):
        yield "session", asked.lower()
    is_known = False
    for found in (_by_token(network, asked), _by_value(network, caller, asked)):
        async for one in found:
            is_known = True
            yield one
    if not is_known:
        async for one in _by_own_handle(network, caller, asked):
            yield one


async def _by_token(network: Network, asked: str) -> AsyncIterator[tuple[str, str]]:
    number = network.tokens.number(asked)
    found = await network.desk.find(number) if number is not None else None
    if found is not None:
        queued: Queued = found.queued
        yield "token", queued.message.session


async def _by_own_handle(network: Network, caller: Caller, asked: str) -> AsyncIterator[tuple[str, str]]:
    """Exactly as written: for messages from before indexes knew what messages are known by."""
    if caller.operator:
        return
    for service in owned_services(caller, network.directory)[:SENDERS_MOST]:
        seen = await network.desk.seen(handle_key(service.gcid, asked))
        if seen is not None and seen[1]:
            yield "handle", seen[1]


async def _by_value(network: Network, caller: Caller, asked: str) -> AsyncIterator[tuple[str, str]]:
    await network.indexed()
    mine = everybody if caller.operator else is_mine(caller, network.directory)
    key, before = found_key(asked), reading.NEWEST
    for _ in range(LOOKED_MOST // PORTION):
        rows = await network.index.query("found", key, before, PORTION)
        for _seq, session, header in rows:
            if by := _known_as(header, asked, mine):
                yield by, session
        if len(rows) < PORTION:
            return
        before = rows[-1][0]


def everybody(_gcid: str) -> bool:
    return True


def _known_as(header: bytes | None, asked: str, mine: Mine) -> str:
    """In which words the caller may know the message by this; empty where it may not, or only the hash is the same."""
    entry = decode(header) if header is not None else None
    if not isinstance(entry, MessagePosted):
        return "handle"  # a refused one: who may open it is asked then
    hops = [copy.hops for copy in entry.copies if copy.hops]
    sends = mine(entry.sender)
    receives = sends or any(mine(way[-1].service) for way in hops)
    if not receives and not any(mine(hop.service) for way in hops for hop in way):
        return ""
    names = is_known_by(entry, asked)
    return ", ".join([name for name in names if (sends if name in SENDERS_NAMES else receives or name in HEADER_NAMES)])


async def _seen(network: Network, caller: Caller, session: str, by: str) -> FoundMessage | None:
    try:
        message = await reading.message(network, caller, session)
    except Refused:
        return await _refused(network, caller, session, by)
    return FoundMessage(
        session=message.session,
        at_us=message.at_us,
        sender=message.sender,
        handle=message.handle,
        by=by,
        recipients=tuple([copy.recipient for copy in message.copies]),
        state=message.copies[0].state if len(message.copies) == 1 else "",
    )


async def _refused(network: Network, caller: Caller, session: str, by: str) -> FoundMessage | None:
    try:
        row = await reading.refusal(network, caller, session)
    except Refused:
        return None
    return FoundMessage(
        session=session, at_us=row["at_us"], sender=row["sender"], handle=row["handle"], by=by, state="refused"
    )
