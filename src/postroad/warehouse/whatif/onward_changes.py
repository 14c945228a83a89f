"""What exchanges and models would send on under two directories: who gets a message that did not, or no longer, and how.

Kept rule: a copy is known by the exchanges it has passed, its receiver, and the binding that has made something of it; so a
binding that is renamed changes nothing for anybody, unless what it makes goes under its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.model.journal import Hop
from postroad.warehouse.whatif.comparing import Difference, beyond, difference_of
from postroad.warehouse.whatif.onward import Onward, Onwards


@dataclass(frozen=True, slots=True, kw_only=True)
class OnwardChange:
    """One copy that is sent on by one side only, or otherwise by the other."""

    difference: Difference
    before: Onward | None
    after: Onward | None

    @property
    def either(self) -> Onward:
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


def onward_changes(before: Onwards, after: Onwards) -> tuple[OnwardChange, ...]:
    keys = sorted({*before.sent, *after.sent})
    found = [_change(_going(before.sent.get(key)), _going(after.sent.get(key))) for key in keys]
    return tuple([change for change in found if change is not None])


def _going(onward: Onward | None) -> Onward | None:
    """A copy that its receiver's rules refuse goes nowhere."""
    return onward if onward is not None and not onward.copy.code else None


def _change(before: Onward | None, after: Onward | None) -> OnwardChange | None:
    if before is None and after is None:
        return None
    if before is None or after is None:
        difference = Difference.FORWARDED if before is None else Difference.NOT_FORWARDED
        return OnwardChange(difference=difference, before=before, after=after)
    way = Difference.CONTENT if before.made != after.made else difference_of(before.copy, after.copy)
    return OnwardChange(difference=way, before=before, after=after) if way is not None else None


def _beyond(one: Onward | None, other: Onward | None) -> tuple[Hop, ...]:
    if one is None:
        return ()
    return beyond(one.copy.hops, other.copy.hops) if other is not None else one.copy.hops
