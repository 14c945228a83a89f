"""The questions of all bindings, each stored once: slots by number, views (a slot with a reading), probes (a view with a test).

Rules: questions that no binding uses are removed, so that an exchange reads only needed values. Views and probes are
compared by identity, because every message looks them up many times.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from postroad.core.exchange.conditions import Literal, Test
from postroad.core.exchange.constant_tests import find_test_maker
from postroad.core.exchange.match.extraction import Extraction
from postroad.core.exchange.match.lookups import LOOKUP_CONVERTERS, Lookups
from postroad.core.exchange.slots import DocumentSlot, HeaderSlot, Slot
from postroad.core.exchange.value_conversion import CONVERTERS, Conversion

_READ = {**CONVERTERS, **LOOKUP_CONVERTERS}


class Probe:
    __slots__ = ("make", "test", "view")

    def __init__(self, view: View, test: Test) -> None:
        self.view = view
        self.test = test
        self.make = find_test_maker(
            test, typed_numbers=view.reading in (Conversion.ITEM_NUMBER, Conversion.ITEM_AS_NUMBER)
        )

    def meet(self, constant: object) -> None:
        """Something is to be equal to the constant."""
        if self.test is Test.EQ:
            self.view.constants[constant] = self.view.constants.get(constant, 0) + 1

    def part(self, constant: object) -> None:
        """It no longer is."""
        if self.test is not Test.EQ:
            return
        if self.view.constants[constant] == 1:
            del self.view.constants[constant]
        else:
            self.view.constants[constant] -= 1


class View:
    __slots__ = ("by_raw_text", "constants", "number", "probes", "read", "reading", "slot", "uses")

    def __init__(self, slot: Slot, number: int, reading: Conversion) -> None:
        self.slot = slot
        self.number = number  # of the slot
        self.by_raw_text = reading in (Conversion.TEXTS, Conversion.ITEM_TEXT)  # what is no text is never equal to one
        self.reading = reading
        self.read = _READ[reading]
        self.uses = 0
        self.probes: dict[Test, Probe] = {}
        self.constants: dict[object, int] = {}  # that something is to be equal to, and how often

    def probe(self, test: Test) -> Probe:
        if test not in self.probes:
            self.probes[test] = Probe(self, test)
        return self.probes[test]


class QuestionIndex:
    __slots__ = ("_count", "_extraction", "_looking_up", "_slots", "documents", "headers", "lookups")

    def __init__(self) -> None:
        self._count = count()
        self._slots: dict[Slot, tuple[int, dict[Conversion, View]]] = {}
        self._extraction: Extraction | None = None
        self._looking_up: Lookups | None = None
        self.documents: dict[int, DocumentSlot] = {}  # of XML
        self.lookups: dict[int, DocumentSlot] = {}  # of JSON
        self.headers: dict[int, HeaderSlot] = {}

    @property
    def in_use(self) -> bool:
        return bool(self._slots or self.documents or self.lookups or self.headers)

    @property
    def inside(self) -> frozenset[int]:
        """All slots inside of documents."""
        return frozenset(self.documents) | frozenset(self.lookups)

    @property
    def extraction(self) -> Extraction:
        if self._extraction is None:
            self._extraction = Extraction(self.documents)
        return self._extraction

    @property
    def looking_up(self) -> Lookups:
        if self._looking_up is None:
            self._looking_up = Lookups(self.lookups)
        return self._looking_up

    def hold(self, literal: Literal) -> Probe:
        """The probe of a literal, which stays in use until it is released as often."""
        if literal.slot not in self._slots:
            self._begin(literal.slot)
        number, views = self._slots[literal.slot]
        if literal.reading not in views:
            views[literal.reading] = View(literal.slot, number, literal.reading)
        view = views[literal.reading]
        view.uses += 1
        return view.probe(literal.test)

    def release(self, probe: Probe) -> None:
        view = probe.view
        number, views = self._slots[view.slot]
        view.uses -= 1
        if not view.uses:
            del views[view.reading]
        if not views:
            self._end(number, view.slot)

    def _begin(self, slot: Slot) -> None:
        number = next(self._count)
        self._slots[slot] = (number, {})
        self._kept_with(slot)[number] = slot

    def _end(self, number: int, slot: Slot) -> None:
        del self._slots[slot]
        del self._kept_with(slot)[number]

    def _kept_with(self, slot: Slot) -> dict[int, Any]:
        """Those of its kind, which are about to change: a plan for looking at them is then no longer right."""
        if isinstance(slot, HeaderSlot):
            return self.headers
        if slot.is_lookup:
            self._looking_up = None
            return self.lookups
        self._extraction = None
        return self.documents
