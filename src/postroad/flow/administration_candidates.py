"""Which messages may be meant by a text: by session, token, handle, or by the hash of whatever else they are known by.

Kept rules: a token is taken to the letter, and stands for the message as whoever was given it knows it. By what stands in its
documents a message is found by its sender and its receivers alone, and by what its sender calls it elsewhere by its sender:
nobody can guess at a document that was kept from them. A value that very many messages have is looked up to a bound.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.audit.known_keys import keys_told
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import Entry, MessagePosted, decode
from postroad.core.model.snapshot import Directory
from postroad.core.projection.found_by import Nearness, found_key, is_known_by
from postroad.core.projection.keys import handle_key
from postroad.flow.administration_contents import Mine, is_mine
from postroad.flow.administration_services import owned_services
from postroad.flow.network import Network

LOOKED_MOST = 4_000  # entries with the same hash that are looked at, however few of them the caller may see
PORTION = 500
SENDERS_MOST = 50  # services whose handles of long ago are looked for


class Candidate(NamedTuple):
    """A message that may be meant; whether the caller may know of it is asked by whoever shows it."""

    session: str
    by: tuple[str, ...]  # in which words it is known by the text
    seq: int = 0  # of its entry, where it was found by that
    is_refused: bool = False  # only the hash of its handle is known to be that of the text


async def by_itself(network: Network, caller: Caller, asked: str) -> list[Candidate]:
    """By what can mean one message only."""
    found = list(_by_session(asked))
    number = network.tokens.number(asked)
    delivery = await network.desk.find(number) if number is not None else None
    if delivery is not None and _is_token_of(network, delivery.queued, asked):
        found.append(Candidate(_session_told(network, caller, delivery.queued), ("token",)))
    return found


def _by_session(asked: str) -> Iterator[Candidate]:
    if SESSION.match(asked.lower()):
        yield Candidate(asked.lower(), ("session",))


def _is_token_of(network: Network, queued: Queued, asked: str) -> bool:
    session, is_hidden = queued.message.session, bool(queued.shown_sender)
    return network.tokens.holds(asked, queued.number, session, queued.recipient, hidden=is_hidden)


def _session_told(network: Network, caller: Caller, queued: Queued) -> str:
    """The session under which the receiver knows the message; the real one could be known to it from elsewhere."""
    session = queued.message.session
    return network.tokens.veil.session(session) if queued.shown_sender and not caller.operator else session


async def by_own_handle(network: Network, caller: Caller, asked: str) -> list[Candidate]:
    """Exactly as written: for messages from before indexes knew what messages are known by."""
    services = [] if caller.operator else owned_services(caller, network.directory)[:SENDERS_MOST]
    seen = [await network.desk.seen(handle_key(service.gcid, asked)) for service in services]
    return [Candidate(one[1], ("handle",)) for one in seen if one is not None and one[1]]


async def by_value(network: Network, caller: Caller, asked: str, before: int) -> AsyncIterator[Candidate]:
    """By everything else, newest first."""
    await network.indexed()
    mine = _everybody if caller.operator else is_mine(caller, network.directory)
    key = found_key(asked)
    for _ in range(LOOKED_MOST // PORTION):
        rows = await network.index.query("found", key, before, PORTION)
        for seq, session, header in rows:
            if header is None:
                yield Candidate(session, ("handle",), seq, is_refused=True)
            elif by := _known_as(decode(header), asked, mine, network.directory):
                yield Candidate(session, by, seq)
        if len(rows) < PORTION:
            return
        before = rows[-1][0]


def _everybody(_gcid: str) -> bool:
    return True


def _known_as(entry: Entry, asked: str, mine: Mine, directory: Directory) -> tuple[str, ...]:
    """In which words the caller may know the message by this; none where it may not, or only the hash is the same."""
    if not isinstance(entry, MessagePosted):
        return ()
    nearness = _nearness(entry, mine)
    told = replace(entry, found_by=keys_told(entry, mine, directory)) if entry.found_by else entry
    return is_known_by(told, asked, nearness) if nearness is not None else ()


def _nearness(entry: MessagePosted, mine: Mine) -> Nearness | None:
    if mine(entry.sender):
        return Nearness.SENDER
    ways = [copy.hops for copy in entry.copies if copy.hops]
    if any(mine(way[-1].service) for way in ways):
        return Nearness.RECEIVER
    return Nearness.ON_THE_WAY if any(mine(hop.service) for way in ways for hop in way) else None
