"""Messages that a search text may mean: by session, token, handle or hash of a search key.

Rules: a token must match exactly, and finds the message as the holder of the token knows it. A search by document
values finds a message only for its sender and its receivers, and a search by the sender's own names only for the
sender, so that no one can guess values of a document that is hidden from them. A value that very many messages share
is looked up to a limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import Entry, MessagePosted, decode
from postroad.core.projection.search_keys import ViewerRole, matching_search_keys, search_key_hash
from postroad.core.projection.unique_keys import handle_key
from postroad.core.visibility.viewer import Viewer
from postroad.core.visibility.visible_keys import find_visible_keys
from postroad.flow.administration.services import list_owned_services
from postroad.flow.network import Network

MAX_LOOKED = 4_000  # entries with the same hash that are looked at, however few of them the caller may see
PORTION = 500
MAX_SENDERS = 50  # services whose handles of long ago are looked for


class SearchCandidate(NamedTuple):
    """A message that may match; the caller of this module checks whether it may be shown."""

    session: str
    by: tuple[str, ...]  # in which words it is known by the text
    seq: int = 0  # of its entry, where it was found by that
    is_refused: bool = False  # only the hash of its handle is known to be that of the text


async def find_exact(network: Network, caller: Caller, asked: str) -> list[SearchCandidate]:
    """Return the messages that the text identifies uniquely."""
    found = list(_by_session(asked))
    delivery = await network.lookup.find_of_any(asked)
    if delivery is not None:
        found.append(SearchCandidate(_visible_session(network, caller, delivery), ("token",)))
    return found


def _by_session(asked: str) -> Iterator[SearchCandidate]:
    if SESSION.match(asked.lower()):
        yield SearchCandidate(asked.lower(), ("session",))


def _visible_session(network: Network, caller: Caller, queued: Queued) -> str:
    """Return the session by which the receiver knows the message, so that the real one is not revealed."""
    session = queued.message.session
    return network.tokens.pseudonyms.session(session) if queued.shown_sender and not caller.operator else session


async def find_by_own_handle(network: Network, caller: Caller, asked: str) -> list[SearchCandidate]:
    """Return messages by exact handle, for messages older than the search keys."""
    services = [] if caller.operator else list_owned_services(caller, network.directory)[:MAX_SENDERS]
    seen = [await network.desk.find_first_use(handle_key(service.gcid, asked)) for service in services]
    return [SearchCandidate(one[1], ("handle",)) for one in seen if one is not None and one[1]]


async def find_by_value(network: Network, caller: Caller, asked: str, before: int) -> AsyncIterator[SearchCandidate]:
    """Yield messages by any other search key, newest first."""
    await network.wait_until_indexed()
    viewer = Viewer.of_caller(caller, network.directory)
    key = search_key_hash(asked)
    for _ in range(MAX_LOOKED // PORTION):
        rows = await network.index.query("found", key, before, PORTION)
        for seq, session, header in rows:
            if header is None:
                yield SearchCandidate(session, ("handle",), seq, is_refused=True)
            elif by := _known_as(decode(header), asked, viewer):
                yield SearchCandidate(session, by, seq)
        if len(rows) < PORTION:
            return
        before = rows[-1][0]


def _known_as(entry: Entry, asked: str, viewer: Viewer) -> tuple[str, ...]:
    """Return the kinds of search key by which the viewer may find the message; empty if none."""
    if not isinstance(entry, MessagePosted):
        return ()
    nearness = _nearness(entry, viewer)
    told = replace(entry, search_keys=find_visible_keys(entry, viewer)) if entry.search_keys else entry
    return matching_search_keys(told, asked, nearness) if nearness is not None else ()


def _nearness(entry: MessagePosted, viewer: Viewer) -> ViewerRole | None:
    if viewer.owns(entry.sender):
        return ViewerRole.SENDER
    ways = [copy.hops for copy in entry.copies if copy.hops]
    if any(viewer.owns(way[-1].service) for way in ways):
        return ViewerRole.RECEIVER
    return ViewerRole.ON_THE_WAY if any(viewer.owns(hop.service) for way in ways for hop in way) else None
