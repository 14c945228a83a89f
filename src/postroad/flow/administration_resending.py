"""Resending and dropping dead letters on somebody's behalf, one or a page at a time.

Kept rules: what is resent keeps its order; one that is refused does not hold up the others; a run goes no further than the
letters that were there when its first page was asked for, so that what fails again is not resent again by the same run.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from postroad.core.audit.letters import Letter
from postroad.core.delivery.dead_letters import expiry_of_round
from postroad.core.model.caller import Caller
from postroad.errors import Refused
from postroad.flow.administration_dead_letters import Found, Page, Wish, browse, check_may_deal, found_by
from postroad.flow.dead_letters import dealt_with
from postroad.flow.network import Network

CANNOT = "It cannot be delivered where it failed; ask whom you sent it to, or who sends to you"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """What became of one letter: the delivery that it is now, or the refusal."""

    letter: Letter
    delivery: int = 0  # as the caller knows it; 0 when it was dropped or refused
    refusal: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewed:
    """What a resend would do with a letter now."""

    letter: Letter
    expires_at_us: int  # of the new round; 0: never
    refusal: Refused | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtPage:
    dealt: list[Dealt]
    next_after: int | None
    upto: int


async def resend(network: Network, caller: Caller, shown: int, reason: str, expires_in_s: int = 0) -> Dealt:
    """Have one letter delivered once more; raises Refused when that cannot be."""
    check_may_deal(caller)
    [dealt] = await _resend(network, caller, [await found_by(network, caller, shown)], reason, expires_in_s)
    return _successful(dealt)


async def resend_many(network: Network, caller: Caller, wish: Wish, reason: str, expires_in_s: int = 0) -> DealtPage:
    """Have a page of letters delivered once more, in their order; one that is refused does not hold up the others."""
    check_may_deal(caller)
    page, upto = await _page(network, caller, wish)
    dealt = await _resend(network, caller, page.found, reason, expires_in_s)
    return DealtPage(dealt=dealt, next_after=page.next_after, upto=upto)


async def preview(network: Network, caller: Caller, wish: Wish) -> list[Previewed]:
    """What a resend would do with a page of letters; nothing is done."""
    check_may_deal(caller)
    return [await _previewed(network, one) for one in (await browse(network, caller, wish)).found]


async def preview_one(network: Network, caller: Caller, shown: int) -> Previewed:
    check_may_deal(caller)
    return await _previewed(network, await found_by(network, caller, shown))


async def drop(network: Network, caller: Caller, shown: int, reason: str) -> Dealt:
    check_may_deal(caller)
    [dealt] = await _drop(network, caller, [await found_by(network, caller, shown)], reason)
    return _successful(dealt)


async def drop_many(network: Network, caller: Caller, wish: Wish, reason: str) -> DealtPage:
    check_may_deal(caller)
    page, upto = await _page(network, caller, wish)
    dealt = await _drop(network, caller, page.found, reason)
    return DealtPage(dealt=dealt, next_after=page.next_after, upto=upto)


async def _page(network: Network, caller: Caller, wish: Wish) -> tuple[Page, int]:
    """A page of letters that were there when the first page was asked for."""
    await network.indexed()
    newest = (((await network.index.position()).seq + 1) << 16) - 1
    upto = min(wish.upto, newest)
    return await browse(network, caller, replace(wish, upto=upto)), upto


async def _resend(network: Network, caller: Caller, found: list[Found], reason: str, expires_in_s: int) -> list[Dealt]:
    expires_at_us = network.clock.now_us() + expires_in_s * 1_000_000 if expires_in_s else None
    refusals = [await _refusal(network, one) for one in found]
    good = [one for one, refusal in zip(found, refusals, strict=True) if refusal is None]
    # Begun in their order, and together: they share a group of the journal.
    sent = [network.dead_letters.resend(one.dead, caller.name, reason, expires_at_us) for one in good]
    numbers = iter(await asyncio.gather(*sent, return_exceptions=True))
    return [
        _resent(network, one, next(numbers)) if refusal is None else Dealt(letter=one.letter, refusal=refusal)
        for one, refusal in zip(found, refusals, strict=True)
    ]


def _resent(network: Network, one: Found, number: int | BaseException) -> Dealt:
    if isinstance(number, Refused):
        return Dealt(letter=one.letter, refusal=number)
    if isinstance(number, BaseException):
        raise number
    is_disguised = one.letter.id != one.letter.number
    return Dealt(letter=one.letter, delivery=network.tokens.veil.number(number) if is_disguised else number)


async def _refusal(network: Network, one: Found) -> Refused | None:
    """Why this letter cannot be delivered now, in words that are for the caller."""
    try:
        await network.dead_letters.check(one.dead)
    except Refused as refusal:
        is_plain = one.letter.id == one.letter.number or refusal.code in ("dead-letter.dealt", "body.dropped")
        return refusal if is_plain else Refused(refusal.code, CANNOT)
    return None


async def _previewed(network: Network, one: Found) -> Previewed:
    expires_at_us = expiry_of_round(one.dead, network.clock.now_us())
    return Previewed(letter=one.letter, expires_at_us=expires_at_us, refusal=await _refusal(network, one))


async def _drop(network: Network, caller: Caller, found: list[Found], reason: str) -> list[Dealt]:
    before = set(await network.dead_letters.drop([one.dead for one in found], caller.name, reason))
    return [Dealt(letter=one.letter, refusal=dealt_with() if one.letter.number in before else None) for one in found]


def _successful(dealt: Dealt) -> Dealt:
    if dealt.refusal is not None:
        raise dealt.refusal
    return dealt
