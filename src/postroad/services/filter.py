"""Filter service: passes or stops messages by sender or condition.

The argument ``list`` names the asset. A denied sender is stopped, even if also allowed; an allowed sender passes; so
does a message for which the condition ``when`` holds; for all others ``otherwise`` decides. A stopped message ends as
rejected, with the reason.
"""

from __future__ import annotations

from functools import lru_cache

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, Status
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import AT_ONCE, Budget, TooMuchAtOnce
from postroad.core.routing.conditions.subject import NamedService, RuleHeader, Subject
from postroad.services.arguments import Arguments
from postroad.services.filter_list import FilterList, read_list
from postroad.services.hosting.off_loop import run_in_thread
from postroad.services.service import ServiceResult, Tools

REJECTED = "rejected"
LISTS_KEPT = 256


@lru_cache(maxsize=LISTS_KEPT)
def _list(content: str) -> FilterList:
    return read_list(content)


class FilterService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        asset = tools.asset(AssetKind.LIST, Arguments(message.arguments).get("list"))
        sender = tools.directory.services.get(message.sender_gcid)
        rules = await _rules(asset, tools.directory)
        try:
            return _returned(_why_not(rules, message, sender, Budget(AT_ONCE)), message)
        except TooMuchAtOnce:
            pass  # raised below, since the traceback would keep the documents alive
        return _returned(await run_in_thread(_why_not, rules, message, sender, Budget()), message)


async def _rules(asset: Asset, directory: Directory) -> FilterList:
    """Return the parsed list; parsed in a thread at first use."""
    key = ("filter", asset.service, asset.name)
    found: FilterList | None = directory.cache.get(key)
    if found is None:
        found = directory.cache[key] = await run_in_thread(_list, asset.content)
    return found


def _returned(why_not: str, message: Delivered) -> ServiceResult:
    if why_not:
        return ServiceResult(status=Status(REJECTED, f"messages {why_not} are rejected"))
    return ServiceResult(parts=() if not message.in_transit else None)


def _why_not(rules: FilterList, message: Delivered, sender: Service | None, budget: Budget) -> str:
    """Return why the message is stopped; empty if it passes."""
    names = set(sender.names) if sender is not None else {message.sender_gcid}
    if not rules.deny.isdisjoint(names):
        return f"from {message.sender}"
    if not rules.allow.isdisjoint(names):
        return ""
    if rules.holds is not None and rules.holds(_subject(message, sender, budget)):
        return ""
    if rules.otherwise == "allow":
        return ""
    return f"from {message.sender}" if rules.holds is None else "that do not meet its condition"


def _subject(message: Delivered, sender: Service | None, budget: Budget) -> Subject:
    organization = sender.organization if sender is not None else ""
    header = RuleHeader(
        sender=NamedService(address=message.sender, gcid=message.sender_gcid, organization=organization),
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        reference=message.reference.session if message.reference else "",
        expires_at_us=message.expires_at_us,
        properties=message.properties,
        status=message.status,
        posted_at_us=message.posted_at_us,
    )
    subject = Subject(header=header, parts=message.parts, budget=budget)
    return subject.seen_by(
        message.recipient_gcid,
        role=RuleRole.IN_TRANSIT if message.in_transit else RuleRole.RECIPIENT,
        topic=message.topic,
        arguments=message.arguments,
        invoker=message.invoker,
    )
