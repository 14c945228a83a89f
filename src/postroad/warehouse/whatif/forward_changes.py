"""The differences between two sides in what exchanges and models forward, and the reasons.

Rules: a copy is identified by the exchanges it has passed, its receiver, and the binding that produced its content;
so renaming a binding changes nothing, unless its content is named after it. As for routes, a reason has the same text
for all its messages, so that reasons can be counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from postroad.core.exchange.exchange import decider_of
from postroad.core.model.asset import Hosting
from postroad.core.model.exchange import Binding
from postroad.core.model.model_tree import ModelAttachment, attachment_key
from postroad.core.model.route import Hop
from postroad.core.model.snapshot import Directory
from postroad.warehouse.whatif.comparison import RouteDifference, difference_of, extra_stops
from postroad.warehouse.whatif.forwards import ForwardedCopies, ForwardedCopy
from postroad.warehouse.whatif.reasons import OTHER_PROFILES, address_of, explain_rule_differences


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardChange:
    """A forwarded copy that exists on one side only, or differs between the sides."""

    difference: RouteDifference
    before: ForwardedCopy | None
    after: ForwardedCopy | None

    @property
    def either(self) -> ForwardedCopy:
        """Return the copy of the side that has it."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a change has a side at least")
        return found

    @property
    def gained(self) -> tuple[Hop, ...]:
        return _beyond(self.after, self.before)

    @property
    def lost(self) -> tuple[Hop, ...]:
        return _beyond(self.before, self.after)


def compare_forwards(before: ForwardedCopies, after: ForwardedCopies) -> tuple[ForwardChange, ...]:
    keys = sorted({*before.sent, *after.sent})
    found = [_change(_accepted(before.sent.get(key)), _accepted(after.sent.get(key))) for key in keys]
    return tuple([change for change in found if change is not None])


def _accepted(onward: ForwardedCopy | None) -> ForwardedCopy | None:
    """Return the copy, or None if its receiver's rules refuse it."""
    return onward if onward is not None and not onward.copy.code else None


def _change(before: ForwardedCopy | None, after: ForwardedCopy | None) -> ForwardChange | None:
    if before is None and after is None:
        return None
    if before is None or after is None:
        difference = RouteDifference.FORWARDED if before is None else RouteDifference.NOT_FORWARDED
        return ForwardChange(difference=difference, before=before, after=after)
    way = RouteDifference.CONTENT if before.made != after.made else difference_of(before.copy, after.copy)
    return ForwardChange(difference=way, before=before, after=after) if way is not None else None


def _beyond(one: ForwardedCopy | None, other: ForwardedCopy | None) -> tuple[Hop, ...]:
    if one is None:
        return ()
    return extra_stops(one.copy.hops, other.copy.hops) if other is not None else one.copy.hops


class ForwardReasons:
    """Both sides of one message, to explain a change."""

    def __init__(self, before: Directory, after: Directory, was: ForwardedCopies, is_now: ForwardedCopies) -> None:
        self._before, self._after = before, after
        self._was, self._is_now = was, is_now

    def reasons(self, change: ForwardChange) -> tuple[str, ...]:
        """Return the reasons as text, at least one."""
        match change.difference:
            case RouteDifference.FORWARDED:
                found = self._more(change.either)
            case RouteDifference.NOT_FORWARDED:
                found = self._fewer(change.either)
            case RouteDifference.CONTENT:
                found = [
                    f"{self._named(change.either, name)} transforms it differently" for name in change.either.chosen_by
                ]
            case _:
                found = self._otherwise(change)
        return tuple(dict.fromkeys(found)) or (OTHER_PROFILES,)

    def _more(self, onward: ForwardedCopy) -> Iterable[str]:
        by = onward.through[-1]
        if onward.through not in self._was.reached:
            return [f"{self._address(by)} gets the message"]
        if code := self._was.refused.get(onward.through):
            return [f"{self._address(by)} no longer refuses it: {code}"]
        if code := _refusal(self._was, onward):
            return [f"no longer refused: {code}"]
        return [f"{self._named(onward, name)} {self._standing(onward, name, gained=True)}" for name in onward.chosen_by]

    def _fewer(self, onward: ForwardedCopy) -> Iterable[str]:
        by = onward.through[-1]
        if onward.through not in self._is_now.reached:
            return [f"{self._address(by)} does not get the message"]
        if code := self._is_now.refused.get(onward.through):
            return [f"{self._address(by)} refuses it: {code}"]
        if code := _refusal(self._is_now, onward):
            return [f"refused: {code}"]
        return [
            f"{self._named(onward, name)} {self._standing(onward, name, gained=False)}" for name in onward.chosen_by
        ]

    def _otherwise(self, change: ForwardChange) -> Iterable[str]:
        """Return the differences caused by the receiver's own rules."""
        if change.before is None or change.after is None:
            return []
        return explain_rule_differences(change.before.tried, change.after.tried, self._before, self._after)

    def _standing(self, onward: ForwardedCopy, name: str, *, gained: bool) -> str:
        by, here, there = onward.through[-1], self._after, self._before
        if not gained:
            here, there = there, here
        if self._is_model(by):
            other = there.object("attachment", attachment_key(by, name))
            return _attachment_standing(other, gained=gained)
        own, other_binding = here.binding(by, name), there.binding(by, name)
        return _binding_standing(own, other_binding, here, there, gained=gained)

    def _is_model(self, gcid: str) -> bool:
        service = self._after.services.get(gcid) or self._before.services.get(gcid)
        return service is not None and service.hosted is Hosting.MODEL

    def _named(self, onward: ForwardedCopy, name: str) -> str:
        by = onward.through[-1]
        if self._is_model(by):
            return f"consumer '{name}' of {self._address(by)}"
        known = self._after.binding(by, name) or self._before.binding(by, name)
        return f"binding '{known.name if known is not None else name}' at {self._address(by)}"

    def _address(self, gcid: str) -> str:
        return address_of(gcid, self._after, self._before)


def _refusal(side: ForwardedCopies, onward: ForwardedCopy) -> str:
    """Return why a selected receiver cannot be reached."""
    same = [one for one in side.sent.values() if (one.through, one.receiver) == (onward.through, onward.receiver)]
    return next((one.copy.code for one in same if one.copy.code), "")


def _attachment_standing(other: ModelAttachment | None, *, gained: bool) -> str:
    if other is None:
        return "is new" if gained else "was removed"
    return "is reached" if gained else "is not reached"


def _binding_standing(
    own: Binding | None, other: Binding | None, here: Directory, there: Directory, *, gained: bool
) -> str:
    """Return the difference of a binding that matches on one side only."""
    if other is None:
        return "is new" if gained else "was removed"
    if not other.enabled:
        return "is enabled" if gained else "is disabled"
    if own is None or own.queue != other.queue:
        return "has another queue"
    if decider_of(own, here) == decider_of(other, there) and own.routing_key == other.routing_key:
        return "now matches" if gained else "no longer matches"  # another exchange has changed the message
    return "changed, and now matches" if gained else "changed, and no longer matches"
