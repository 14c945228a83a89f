"""Why an exchange or a model would send a message on to somebody, or no longer: which binding or attachment makes the difference.

Kept rule: as for routes, a reason is the same text for all messages that have it, so that reasons can be counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.exchange.bound import decider_of
from postroad.core.model.asset import Hosting
from postroad.core.model.exchange import Binding
from postroad.core.model.model_tree import ModelAttachment, attachment_key
from postroad.core.model.snapshot import Directory
from postroad.warehouse.whatif.comparing import Difference
from postroad.warehouse.whatif.onward import Onward, Onwards
from postroad.warehouse.whatif.onward_changes import OnwardChange
from postroad.warehouse.whatif.reasons import OTHER_PROFILES, address_of, rules_that_differ


class Sides:
    """Both sides of one message, to look at what is behind a change."""

    def __init__(self, before: Directory, after: Directory, was: Onwards, is_now: Onwards) -> None:
        self._before, self._after = before, after
        self._was, self._is_now = was, is_now

    def reasons(self, change: OnwardChange) -> tuple[str, ...]:
        """In words; one at least."""
        match change.difference:
            case Difference.FORWARDED:
                found = self._more(change.either)
            case Difference.NOT_FORWARDED:
                found = self._fewer(change.either)
            case Difference.CONTENT:
                found = [
                    f"{self._named(change.either, name)} makes something else of it" for name in change.either.chosen_by
                ]
            case _:
                found = self._otherwise(change)
        return tuple(dict.fromkeys(found)) or (OTHER_PROFILES,)

    def _more(self, onward: Onward) -> Iterable[str]:
        by = onward.through[-1]
        if onward.through not in self._was.reached:
            return [f"{self._address(by)} gets the message"]
        if code := self._was.refused.get(onward.through):
            return [f"{self._address(by)} no longer refuses it: {code}"]
        if code := _refusal(self._was, onward):
            return [f"no longer refused: {code}"]
        return [f"{self._named(onward, name)} {self._standing(onward, name, gained=True)}" for name in onward.chosen_by]

    def _fewer(self, onward: Onward) -> Iterable[str]:
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

    def _otherwise(self, change: OnwardChange) -> Iterable[str]:
        """The receiver's own rules lead it another way."""
        if change.before is None or change.after is None:
            return []
        return rules_that_differ(change.before.tried, change.after.tried, self._before, self._after)

    def _standing(self, onward: Onward, name: str, *, gained: bool) -> str:
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

    def _named(self, onward: Onward, name: str) -> str:
        by = onward.through[-1]
        if self._is_model(by):
            return f"consumer '{name}' of {self._address(by)}"
        known = self._after.binding(by, name) or self._before.binding(by, name)
        return f"binding '{known.name if known is not None else name}' at {self._address(by)}"

    def _address(self, gcid: str) -> str:
        return address_of(gcid, self._after, self._before)


def _refusal(side: Onwards, onward: Onward) -> str:
    """Why the receiver cannot be reached, where it was chosen all the same."""
    same = [one for one in side.sent.values() if (one.through, one.receiver) == (onward.through, onward.receiver)]
    return next((one.copy.code for one in same if one.copy.code), "")


def _attachment_standing(other: ModelAttachment | None, *, gained: bool) -> str:
    if other is None:
        return "is new" if gained else "is gone"
    return "is reached" if gained else "is not reached"


def _binding_standing(
    own: Binding | None, other: Binding | None, here: Directory, there: Directory, *, gained: bool
) -> str:
    """What is different about a binding that says yes on its own side only."""
    if other is None:
        return "is new" if gained else "is gone"
    if not other.enabled:
        return "is switched on" if gained else "is switched off"
    if own is None or own.queue != other.queue:
        return "has another queue"
    if decider_of(own, here) == decider_of(other, there) and own.routing_key == other.routing_key:
        return "says yes" if gained else "says no"  # on what another exchange has made of the message
    return "is another, and says yes" if gained else "is another, and says no"
