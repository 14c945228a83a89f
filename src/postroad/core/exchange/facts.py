"""The facts of one message: what it says to every question, each worked out when first asked for and then kept."""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.exchange.extraction import Found
from postroad.core.exchange.questions import Probe, Questions, View
from postroad.core.exchange.readings import ERROR, Values
from postroad.core.exchange.slots import HeaderValue, Raw
from postroad.core.exchange.trying import Tried


class Facts:
    __slots__ = ("_broken", "_tried", "_values", "found")

    def __init__(self, found: Found | None, headers: Mapping[str, HeaderValue], questions: Questions) -> None:
        self.found: dict[int, Raw] = {} if found is None else found  # type: ignore[assignment]  # lists of str are raw
        self._broken: set[int] = set(questions.documents) if found is None else set()
        self._values: dict[View, Values] = {}
        self._tried: dict[Probe, Tried] = {}
        for number, slot in questions.headers.items():
            item = headers.get(slot.name)
            if slot.declared and not slot.takes(item):
                self._broken.add(number)
            elif item is not None:
                self.found[number] = (item,)

    def values(self, view: View) -> Values:
        if view in self._values:
            return self._values[view]
        number = view.number
        read = ERROR if number in self._broken else view.read(self.found.get(number, ()))
        self._values[view] = read
        return read

    def tried(self, probe: Probe) -> Tried:
        """Whether any value passes, as a function of the constant."""
        if probe in self._tried:
            return self._tried[probe]
        ready = self._tried[probe] = probe.make(self.values(probe.view).values)
        return ready
