"""Lists and histories of messages, for the parties that took part in them.

Rules: members of an organization see what its services sent and received; a service sees its own messages; an
operator sees all messages, but not their contents. Contents are read in ``contents``.

Also reports why a delivery is not pushed yet: held by ``release``, or a push pause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from postroad.core.audit.history.refused_post import refused_history
from postroad.core.delivery.release_schedule import next_release
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.history import History, MessageHistory, ReleaseHold, Stop
from postroad.core.model.ids import SESSION
from postroad.core.model.journal import InvocationReturned, MessagePosted, decode
from postroad.core.model.route import Hop
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import QUERIES
from postroad.core.visibility.pseudonyms import Pseudonyms, is_pseudonym
from postroad.core.visibility.redact_delivery import redact_header
from postroad.core.visibility.viewer import Viewer
from postroad.errors import Refused
from postroad.flow.administration.base import find_visible_service, not_found
from postroad.flow.administration.services import list_owned_services
from postroad.flow.network import Network
from postroad.flow.stages.explain import load_refusal

MAX_SCAN = 4_000  # rows looked at for one page, however few of them fit the filters
PORTION = 200  # rows asked for at once, of all services together …
MIN_PORTION = 5  # … and of each
NEWEST = 1 << 62

Row = dict[str, Any]
CopyOutcomes = list[tuple[str, int]]  # the states of its copies, and how many are in each


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSearch:
    """A filter for messages, with the page position."""

    box: str  # sent, received or refused
    service: str = ""
    type: str = ""
    topic: str = ""
    state: str = ""
    before: int = NEWEST
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageList:
    """One page of messages."""

    rows: list[Row]
    next_before: int | None  # where the next page begins; None at the end


BOXES = {"sent": ("sent_by", "seq"), "received": ("received_by", "number"), "refused": ("refused_by", "seq")}


async def browse(network: Network, caller: Caller, wish: MessageSearch) -> MessageList:
    """Return one page of messages, newest first."""
    await network.wait_until_indexed()
    services = _services(caller, network.directory, wish.service)
    query, order = BOXES[wish.box]
    rows: list[Row] = []
    before, scanned, read = wish.before, 0, _HeaderReader(network.tokens.pseudonyms)
    async for found in _newest(network, query, order, services, before):
        if len(rows) >= wish.limit or scanned == MAX_SCAN:
            return MessageList(rows=_by_shown_time(rows), next_before=before)
        before = found[order]
        scanned += 1
        row = await _with_refusal(network, found) if wish.box == "refused" else read.readable(found)
        if _fits(row, wish):
            rows.append(row)
    return MessageList(rows=_by_shown_time(rows), next_before=None)


def _by_shown_time(rows: list[Row]) -> list[Row]:
    """Sort hidden messages behind all others of the same second, so that the order reveals nothing.

    Otherwise its position among messages with exact times would reveal its own time. Pages follow the order of
    arrival, which is also the order in which a mailbox delivers messages.
    """
    hidden = [row for row in rows if "message" in row and is_pseudonym(row["message"].session)]
    if not hidden:
        return rows
    shown = [row for row in rows if row not in hidden]
    for row in sorted(hidden, key=lambda row: (row["message"].at_us, row["message"].session)):
        older = (place for place, other in enumerate(shown) if other["message"].at_us < row["message"].at_us)
        shown.insert(next(older, len(shown)), row)
    return shown


async def _newest(network: Network, query: str, order: str, services: list[str], before: int) -> AsyncIterator[Row]:
    """Yield the rows of all services, newest first, with headers as stored.

    A service is read further only after all rows it has returned are consumed, so the number of other services adds
    no cost.
    """
    columns = QUERIES[query][1]
    place = columns.index(order)
    size = max(MIN_PORTION, PORTION // max(1, len(services)))
    first = [(gcid, await network.index.query(query, gcid, before, size)) for gcid in services]
    given = [_ServiceRows(-rows[0][place], gcid, rows[::-1], len(rows) == size) for gcid, rows in first if rows]
    heapify(given)
    while given:
        _, gcid, rows, has_more = heappop(given)
        row = rows.pop()
        yield dict(zip(columns, row, strict=True))
        if not rows and has_more:
            rows = (await network.index.query(query, gcid, row[place], size))[::-1]
            has_more = len(rows) == size
        if rows:
            heappush(given, _ServiceRows(-rows[-1][place], gcid, rows, has_more))


class _ServiceRows(NamedTuple):
    """Rows of one service that are not used yet; sorted by the newest row."""

    place: int
    gcid: str
    rows: list[tuple[Any, ...]]  # the newest last
    has_more: bool


async def find_received(network: Network, number: int) -> Row | None:
    """Return the received-list row for one delivery; the caller checks ownership."""
    columns = QUERIES["delivery"][1]
    rows = await network.index.query("delivery", number)
    return _HeaderReader(network.tokens.pseudonyms).readable(dict(zip(columns, rows[0], strict=True))) if rows else None


class _HeaderReader:
    """Decodes row headers, each once: one message may have thousands of rows."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._known: dict[bytes, Any] = {}

    def readable(self, row: Row) -> Row:
        """Return the row with the header as its sender or receiver may see it."""
        if "header" in row:
            row["message"] = self._read(row["header"])
        if "content_facts" in row:
            row["message"] = redact_header(row["message"], _hop(row["message"], row), self._pseudonyms)
        return row

    def _read(self, header: bytes) -> Any:
        if header not in self._known:
            self._known[header] = decode(header)
        return self._known[header]


def _hop(message: MessagePosted, row: Row) -> Hop:
    """Return the hop of the delivery, on the route of its copy as it is now."""
    changed = decode(row["content_facts"]) if row["content_facts"] else None
    hops = (changed.hops if isinstance(changed, InvocationReturned) else ()) or message.copies[row["copy"]].hops
    return hops[row["hop"]]


def _services(caller: Caller, directory: Directory, named: str) -> list[str]:
    """Return the GCIDs of the services to list, if the caller may see them."""
    if named:
        service = find_visible_service(caller, directory, named)
        if not Viewer.of_caller(caller, directory).owns(service.gcid):
            raise not_found()
        return [service.gcid]
    if caller.service is not None:
        return [caller.service.gcid]
    return [service.gcid for service in list_owned_services(caller, directory)]


def _fits(row: Row, wish: MessageSearch) -> bool:
    message: MessagePosted | None = row.get("message")
    if wish.type and (message is None or message.type.value != wish.type):
        return False
    if wish.topic and (message is None or message.topic != wish.topic):
        return False
    if wish.state:
        state = (
            DeliveryState(row["state"]).name.lower()
            if "state" in row
            else ("refused" if message is None else "accepted")
        )
        return state == wish.state
    return True


async def load_history(network: Network, caller: Caller, session: str) -> History:
    """Return the whole transaction, as far as the caller took part in it."""
    if not SESSION.match(session):
        raise not_found()
    service = caller.service.gcid if caller.service is not None else ""
    found = await network.trace(session, None if caller.operator else caller.organization, service)
    if found is None:
        raise not_found()
    if caller.service is not None:
        _cut_to_service(found, caller.service.address, caller.service.gcid)
    if not any(message.session == found.asked for message in found.messages):
        raise not_found()
    await mark_waiting(network, found.messages)
    return found


def _cut_to_service(found: History, address: str, gcid: str) -> None:
    for message in found.messages:
        if message.sender != address:
            for copy in message.copies:
                copy.stops = [stop for stop in copy.stops if stop.gcid == gcid or stop.invoker == address]
                copy.route = [stop.service for stop in copy.stops]
            message.copies = [copy for copy in message.copies if copy.stops]
    found.messages = [message for message in found.messages if message.sender == address or message.copies]


async def load_message(network: Network, caller: Caller, session: str) -> MessageHistory:
    found = await load_history(network, caller, session)
    return next(item for item in found.messages if item.session == found.asked)


async def load_outcomes(network: Network, caller: Caller, sessions: Iterable[str]) -> dict[str, CopyOutcomes]:
    """Return the outcomes of visible messages; those of one transaction are looked up once."""
    found: dict[str, CopyOutcomes] = {}
    for session in sessions:
        if session not in found:
            told = await load_history(network, caller, session)
            found |= {one.session: list_outcomes(one) for one in told.messages}
    return found


def list_outcomes(message: MessageHistory) -> CopyOutcomes:
    return list(Counter(copy.shown_state for copy in message.copies).items())


async def find_refusal(network: Network, caller: Caller, session: str) -> Row:
    """Return a rejected post, for its sender."""
    await network.wait_until_indexed()
    for row in await network.index.query("refused", session) if SESSION.match(session) else []:
        found = dict(zip(QUERIES["refused"][1], row, strict=True))
        if caller.operator or found["sender"] in _services(caller, network.directory, ""):
            return await _with_refusal(network, found)
    raise not_found()


async def _with_refusal(network: Network, row: Row) -> Row:
    """Return the row of a rejected post with its entry, which knows more than the index."""
    return row | {"refusal": await load_refusal(network.journal, row["seq"])}


async def load_trace(network: Network, caller: Caller, session: str) -> History:
    """Return the history of a message, or what is known of a rejected post to its sender's organization."""
    try:
        return await load_history(network, caller, session)
    except Refused as unknown:
        if unknown.code != "not-found":
            raise
    row = await find_refusal(network, caller, session)
    return refused_history(row["seq"], row["refusal"], network.directory)


async def count_waiting(network: Network, caller: Caller) -> list[tuple[str, int]]:
    """Return the caller's services with the number of waiting messages."""
    await network.wait_until_indexed()
    counts = dict(await network.index.query("mailboxes"))
    directory = network.directory
    return [(directory.services[gcid].address, counts.get(gcid, 0)) for gcid in _services(caller, directory, "")]


async def mark_waiting(network: Network, messages: Iterable[MessageHistory]) -> None:
    """Set ``held`` and ``paused`` of the stops at which a copy waits."""
    for message in messages:
        for copy in message.copies:
            if copy.stops and copy.stops[-1].state == "queued":
                copy.stops[-1].held = await _held(network, copy.stops[-1])
                copy.stops[-1].paused = network.pushes.pause(copy.stops[-1].gcid)


async def _held(network: Network, stop: Stop) -> ReleaseHold | None:
    service = network.directory.services.get(stop.gcid)
    release = service.release if service is not None else None
    if release is None or not release.holds:
        return None
    up_to = await network.releases.released_to(stop.gcid)
    if network.tokens.pseudonyms.real_number(stop.delivery) <= up_to:
        return None
    waiting = await network.releases.find_held(stop.gcid, up_to, release.when_waiting or 1)
    due = next_release(release, waiting, network.clock.now_us())
    return ReleaseHold(until_us=due.at_us if due is not None else 0)
