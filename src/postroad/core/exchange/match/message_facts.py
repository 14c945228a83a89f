"""The values of one message for every question, computed on first use and cached."""

from __future__ import annotations

from collections.abc import Container, Mapping
from decimal import Decimal

from postroad.core.exchange.constant_tests import Tried
from postroad.core.exchange.match.questions import Probe, QuestionIndex, View
from postroad.core.exchange.slots import HeaderSlot, HeaderValue, Raw
from postroad.core.exchange.value_conversion import ERROR, ConvertedValues, as_double, to_untyped_text

_LISTS = (list, tuple)


class MessageFacts:
    __slots__ = ("_broken", "_tried", "_unread", "_values", "found")

    def __init__(
        self,
        found: dict[int, Raw],
        unread: Container[int],  # the slots whose values are unknown
        headers: Mapping[str, HeaderValue],
        questions: QuestionIndex,
    ) -> None:
        self.found = found
        self._unread = unread
        self._broken: set[int] = set()  # by an item that is not as it is declared
        self._values: dict[View, ConvertedValues] = {}
        self._tried: dict[Probe, Tried] = {}
        for number, slot in questions.headers.items():
            item = headers.get(slot.name)
            if slot.declared:
                item = self._as_declared(number, slot, item)
            if item is not None:
                found[number] = (to_untyped_text(item) if isinstance(item, _LISTS) else item,)

    def _as_declared(self, number: int, slot: HeaderSlot, item: HeaderValue | None) -> HeaderValue | None:
        if not slot.takes(item):
            self._broken.add(number)
            return None
        return as_double(item) if slot.promotes and isinstance(item, int | Decimal) else item

    def values(self, view: View) -> ConvertedValues:
        if view in self._values:
            return self._values[view]
        number = view.number
        known = number not in self._unread and number not in self._broken
        read = self._values[view] = view.read(self.found.get(number, ())) if known else ERROR
        return read

    def try_values(self, probe: Probe) -> Tried:
        """Whether any value passes, as a function of the constant."""
        if probe in self._tried:
            return self._tried[probe]
        ready = self._tried[probe] = probe.make(self.values(probe.view).values)
        return ready
