"""Dead letters: list, inspect, resend and drop, for the organizations that own them.

Rules: a filter is compared with what the caller may know of a letter, never with the letter itself. Every member of
the organization may list letters; its developers may resend and drop them. Letters are listed oldest first.

Letters are resent and dropped one or a page at a time. Rules: resent messages keep their order. A refused letter does
not hold up the others. A run ends with the letters that existed when its first page was requested, so that a message
that fails again is not resent again by the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from postroad.core.delivery.dead_letters import DeadLetter, group_letters, round_expiry_us
from postroad.core.model.caller import Caller
from postroad.core.model.dead_letter_actions import LetterAction
from postroad.core.model.directory import Role
from postroad.core.model.history import HistoryEvent
from postroad.core.model.ids import delivery_number
from postroad.core.model.part_facts import PartFacts
from postroad.core.projection.queries import LETTER
from postroad.core.resources.dead_letters import LetterGroup
from postroad.core.visibility.redact_dead_letter import DeadLetterRedactor, DeadLetterView
from postroad.core.visibility.viewer import Viewer
from postroad.errors import Refused
from postroad.flow.administration.base import not_found, permission_denied
from postroad.flow.administration.messages import contents
from postroad.flow.administration.messages import message_list as messages
from postroad.flow.network import Network
from postroad.flow.stages.resend import already_handled_error

NUMBER = LETTER.index("number")
PORTION = 200
MAX_SCAN = 4_000  # letters looked at for one page, however few of them fit
MAX_COUNT = 20_000  # letters looked at to count them
SAMPLE = 5
MAX_NUMBER = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterSearch:
    """A filter for dead letters, compared with what the caller may see of a letter."""

    service: str = ""  # GCID or address
    sender: str = ""
    cause: str = ""
    topic: str = ""
    session: str = ""
    since_us: int = 0
    until_us: int = 0
    after: int = 0  # a page begins behind this number …
    upto: int = MAX_NUMBER  # … and ends with it
    limit: int = 50

    def fits(self, letter: DeadLetterView) -> bool:
        return (
            _is_named(self.service, letter.service, letter.gcid)
            and _is_named(self.sender, letter.sender, letter.sender_gcid)
            and self.cause in ("", letter.cause)
            and self.topic in ("", letter.topic)
            and self.session in ("", letter.session)
            and self.since_us <= letter.failed_at_us
            and (not self.until_us or letter.failed_at_us < self.until_us)
        )


def _is_named(wanted: str, address: str, gcid: str) -> bool:
    return not wanted or wanted == gcid or wanted.casefold() == address.casefold()


class VisibleLetter(NamedTuple):
    """A dead letter, and what the caller may see of it."""

    dead: DeadLetter
    letter: DeadLetterView


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterList:
    """One page of dead letters."""

    found: list[VisibleLetter]
    next_after: int | None  # where the next page begins; None at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterCount:
    """The number of matching letters, a sample, and whether all were checked."""

    matches: int
    sample: list[DeadLetterView]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterDetails:
    """A letter with its events and parts."""

    letter: DeadLetterView
    events: list[HistoryEvent]
    parts: tuple[PartFacts, ...]


async def browse(network: Network, caller: Caller, wish: DeadLetterSearch) -> DeadLetterList:
    """Return one page of letters, oldest first."""
    found: list[VisibleLetter] = []
    after, scanned = wish.after, 0
    async for one in _letters(network, caller, wish):
        after, scanned = one.dead.queued.number, scanned + 1
        if wish.fits(one.letter):
            found.append(one)
        if len(found) == wish.limit or scanned == MAX_SCAN:
            return DeadLetterList(found=found, next_after=after)
    return DeadLetterList(found=found, next_after=None)


async def list_letter_groups(
    network: Network, caller: Caller, wish: DeadLetterSearch, most: int = MAX_COUNT
) -> tuple[list[LetterGroup], bool]:
    """Return the letters grouped by service and cause, and whether all were checked."""
    letters, complete = await _all(network, caller, wish, most)
    return group_letters(letters), complete


async def count(network: Network, caller: Caller, wish: DeadLetterSearch) -> DeadLetterCount:
    """Return how many letters a resend or a drop would affect."""
    check_may_resend(caller)
    letters, complete = await _all(network, caller, wish)
    return DeadLetterCount(matches=len(letters), sample=letters[:SAMPLE], complete=complete)


async def inspect(network: Network, caller: Caller, shown: int) -> DeadLetterDetails:
    """Return a letter with its events and parts, as far as the caller may see them."""
    letter = (await find_letter(network, caller, shown)).letter
    if letter.is_hidden:
        return DeadLetterDetails(letter=letter, events=[], parts=())
    history = await messages.load_history(network, caller, letter.session)
    stops = [stop for message in history.messages for copy in message.copies for stop in copy.stops]
    events = next((stop.events for stop in stops if stop.delivery == letter.id), [])
    return DeadLetterDetails(letter=letter, events=events, parts=await _parts(network, caller, letter))


async def _parts(network: Network, caller: Caller, letter: DeadLetterView) -> tuple[PartFacts, ...]:
    try:
        return await contents.list_parts_at_stop(network, caller, letter.session, letter.id)
    except Refused:  # an operator sees that and how, not what
        return ()


async def _all(
    network: Network, caller: Caller, wish: DeadLetterSearch, most: int = MAX_COUNT
) -> tuple[list[DeadLetterView], bool]:
    letters: list[DeadLetterView] = []
    scanned = 0
    async for one in _letters(network, caller, wish):
        scanned += 1
        if scanned > most:
            return letters, False
        if wish.fits(one.letter):
            letters.append(one.letter)
    return letters, True


async def find_letter(network: Network, caller: Caller, shown: int) -> VisibleLetter:
    """Return the letter that the caller knows by this number."""
    await network.wait_until_indexed()
    number = network.tokens.pseudonyms.real_number(shown) if 0 < shown <= MAX_NUMBER else 0
    dead = await network.dead_letters.find(network.index, number) if number else None
    letter = _redactor(network, caller).letter(dead) if dead is not None else None
    if dead is None or letter is None or letter.id != shown:
        raise not_found()
    return VisibleLetter(dead, letter)


async def _letters(network: Network, caller: Caller, wish: DeadLetterSearch) -> AsyncIterator[VisibleLetter]:
    """Yield all of the caller's letters, oldest first, from the page's start."""
    await network.wait_until_indexed()
    redactor, questions = _redactor(network, caller), _questions(network, caller, wish)
    after = wish.after
    while rows := await _portion(network, questions, after):
        for number, row in rows.items():
            after = number
            if number > wish.upto:
                return
            dead = network.dead_letters.from_row(row)
            letter = redactor.letter(dead)
            if letter is not None:
                yield VisibleLetter(dead, letter)


IndexQuestion = tuple[str, tuple[str, ...]]


def _questions(network: Network, caller: Caller, wish: DeadLetterSearch) -> list[IndexQuestion]:
    """Return the index queries: for everything, or for failures at the caller's services and of its messages."""
    if caller.operator:
        return [("dead_letters", ())]
    own = network.directory.services_of(caller.organization) if caller.organization else []
    services = [caller.service] if caller.service is not None else own
    for one in services:  # all that can fit failed at this one, or was sent by it
        if wish.service and _is_named(wish.service, one.address, one.gcid):
            return [("dead_letters_at", (one.gcid,))]
        if wish.sender and _is_named(wish.sender, one.address, one.gcid):
            return [("dead_letters_of", (one.gcid,))]
    return [(name, (one.gcid,)) for one in services for name in ("dead_letters_at", "dead_letters_of")]


async def _portion(network: Network, questions: list[IndexQuestion], after: int) -> dict[int, tuple[object, ...]]:
    """The next rows by number, each once."""
    rows: dict[int, tuple[object, ...]] = {}
    for name, parameters in questions:
        for row in await network.index.query(name, *parameters, after, PORTION):
            rows[row[NUMBER]] = row
    return {number: rows[number] for number in sorted(rows)[:PORTION]}


def _redactor(network: Network, caller: Caller) -> DeadLetterRedactor:
    return DeadLetterRedactor(Viewer.of_caller(caller, network.directory), network.tokens.pseudonyms)


def check_may_resend(caller: Caller) -> None:
    if not caller.has_role(caller.organization, Role.DEVELOPER):
        raise permission_denied("Only a person with the role developer may resend or drop dead letters")


CANNOT = "It cannot be delivered to the service where it failed; contact the recipient or the sender"


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOutcome:
    """The outcome for one letter: its new delivery, or the refusal."""

    letter: DeadLetterView
    delivery: int = 0  # as the caller knows it; 0 when it was dropped or refused
    refusal: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendPreview:
    """The outcome that a resend would have for a letter now."""

    letter: DeadLetterView
    expires_at_us: int  # of the new round; 0: never
    refusal: Refused | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOutcomePage:
    """The outcomes for one page of letters."""

    dealt: list[LetterOutcome]
    next_after: int | None
    upto: int


async def act(
    network: Network, caller: Caller, action: LetterAction, shown: int, *, reason: str, expires_in_s: int = 0
) -> LetterOutcome:
    """Carry out an action of ``LETTER_ACTIONS`` on one letter; raises Refused if that is not possible."""
    if action.begins_round:
        return await resend(network, caller, shown, reason, expires_in_s)
    return await drop(network, caller, shown, reason)


async def act_on_many(
    network: Network,
    caller: Caller,
    action: LetterAction,
    wish: DeadLetterSearch,
    *,
    reason: str,
    expires_in_s: int = 0,
) -> LetterOutcomePage:
    """Carry out an action of ``LETTER_ACTIONS`` on a page of letters; a refused one does not stop the others."""
    if action.begins_round:
        return await resend_many(network, caller, wish, reason, expires_in_s)
    return await drop_many(network, caller, wish, reason)


async def resend(network: Network, caller: Caller, shown: int, reason: str, expires_in_s: int = 0) -> LetterOutcome:
    """Resend one letter; raises Refused if that is not possible."""
    check_may_resend(caller)
    [dealt] = await _resend(network, caller, [await find_letter(network, caller, shown)], reason, expires_in_s)
    return _successful(dealt)


async def resend_many(
    network: Network, caller: Caller, wish: DeadLetterSearch, reason: str, expires_in_s: int = 0
) -> LetterOutcomePage:
    """Resend a page of letters in their order; a refused one does not stop the others."""
    check_may_resend(caller)
    page, upto = await _page(network, caller, wish)
    dealt = await _resend(network, caller, page.found, reason, expires_in_s)
    return LetterOutcomePage(dealt=dealt, next_after=page.next_after, upto=upto)


async def preview(network: Network, caller: Caller, wish: DeadLetterSearch) -> list[ResendPreview]:
    """Return what a resend of a page would do; nothing is changed."""
    check_may_resend(caller)
    return [await _previewed(network, one) for one in (await browse(network, caller, wish)).found]


async def preview_one(network: Network, caller: Caller, shown: int) -> ResendPreview:
    check_may_resend(caller)
    return await _previewed(network, await find_letter(network, caller, shown))


async def drop(network: Network, caller: Caller, shown: int, reason: str) -> LetterOutcome:
    check_may_resend(caller)
    [dealt] = await _drop(network, caller, [await find_letter(network, caller, shown)], reason)
    return _successful(dealt)


async def drop_many(network: Network, caller: Caller, wish: DeadLetterSearch, reason: str) -> LetterOutcomePage:
    check_may_resend(caller)
    page, upto = await _page(network, caller, wish)
    dealt = await _drop(network, caller, page.found, reason)
    return LetterOutcomePage(dealt=dealt, next_after=page.next_after, upto=upto)


async def _page(network: Network, caller: Caller, wish: DeadLetterSearch) -> tuple[DeadLetterList, int]:
    """Return a page of letters that existed when the first page was requested."""
    await network.wait_until_indexed()
    newest = delivery_number((await network.index.position()).seq + 1, 0) - 1
    upto = min(wish.upto, newest)
    return await browse(network, caller, replace(wish, upto=upto)), upto


async def _resend(
    network: Network, caller: Caller, found: list[VisibleLetter], reason: str, expires_in_s: int
) -> list[LetterOutcome]:
    expires_at_us = network.clock.now_us() + expires_in_s * 1_000_000 if expires_in_s else None
    refusals = [await _refusal(network, one) for one in found]
    good = [one for one, refusal in zip(found, refusals, strict=True) if refusal is None]
    # Begun in their order, and together: they share a group of the journal.
    sent = [network.dead_letters.resend(one.dead, caller.name, reason, expires_at_us) for one in good]
    numbers = iter(await asyncio.gather(*sent, return_exceptions=True))
    return [
        _resent(network, one, next(numbers)) if refusal is None else LetterOutcome(letter=one.letter, refusal=refusal)
        for one, refusal in zip(found, refusals, strict=True)
    ]


def _resent(network: Network, one: VisibleLetter, number: int | BaseException) -> LetterOutcome:
    if isinstance(number, Refused):
        return LetterOutcome(letter=one.letter, refusal=number)
    if isinstance(number, BaseException):
        raise number
    is_disguised = one.letter.id != one.letter.number
    return LetterOutcome(
        letter=one.letter, delivery=network.tokens.pseudonyms.number(number) if is_disguised else number
    )


async def _refusal(network: Network, one: VisibleLetter) -> Refused | None:
    """Return why the letter cannot be delivered now, in words for the caller."""
    try:
        await network.dead_letters.check(one.dead)
    except Refused as refusal:
        is_plain = one.letter.id == one.letter.number or refusal.code in ("dead-letter.dealt", "body.dropped")
        return refusal if is_plain else Refused(refusal.code, CANNOT)
    return None


async def _previewed(network: Network, one: VisibleLetter) -> ResendPreview:
    expires_at_us = round_expiry_us(one.dead, network.clock.now_us())
    return ResendPreview(letter=one.letter, expires_at_us=expires_at_us, refusal=await _refusal(network, one))


async def _drop(network: Network, caller: Caller, found: list[VisibleLetter], reason: str) -> list[LetterOutcome]:
    before = set(await network.dead_letters.drop([one.dead for one in found], caller.name, reason))
    return [
        LetterOutcome(letter=one.letter, refusal=already_handled_error() if one.letter.number in before else None)
        for one in found
    ]


def _successful(dealt: LetterOutcome) -> LetterOutcome:
    if dealt.refusal is not None:
        raise dealt.refusal
    return dealt
