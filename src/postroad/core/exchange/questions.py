"""What bindings ask of messages, each question once: slots by number, views (a slot under a reading), probes (a view under a
test).

Kept rules: what no binding asks for any more is forgotten, so that an exchange looks only where someone wants it to. Views
and probes are compared by identity, since every message looks them up many times.
"""

from __future__ import annotations

from collections import Counter
from itertools import count

from postroad.core.exchange.conditions import Literal, Test
from postroad.core.exchange.extraction import Extraction
from postroad.core.exchange.readings import READ, Reading
from postroad.core.exchange.slots import DocumentSlot, HeaderSlot, Slot
from postroad.core.exchange.trying import maker_of


class Probe:
    __slots__ = ("make", "test", "view")

    def __init__(self, view: View, test: Test) -> None:
        self.view = view
        self.test = test
        self.make = maker_of(test, typed_numbers=view.reading is Reading.ITEM_NUMBER)


class View:
    __slots__ = ("by_raw_text", "constants", "number", "probes", "read", "reading", "slot", "uses")

    def __init__(self, slot: Slot, number: int, reading: Reading) -> None:
        self.slot = slot
        self.number = number  # of the slot
        self.by_raw_text = reading in (Reading.TEXTS, Reading.ITEM_TEXT)  # what is no text is never equal to one
        self.reading = reading
        self.read = READ[reading]
        self.uses = 0
        self.probes: dict[Test, Probe] = {}
        self.constants: Counter[object] = Counter()  # that something is to be equal to

    def probe(self, test: Test) -> Probe:
        if test not in self.probes:
            self.probes[test] = Probe(self, test)
        return self.probes[test]


class Questions:
    __slots__ = ("_count", "_extraction", "_slots", "documents", "headers")

    def __init__(self) -> None:
        self._count = count()
        self._slots: dict[Slot, tuple[int, dict[Reading, View]]] = {}
        self._extraction: Extraction | None = None
        self.documents: dict[int, DocumentSlot] = {}
        self.headers: dict[int, HeaderSlot] = {}

    @property
    def in_use(self) -> bool:
        return bool(self._slots or self.documents or self.headers)

    @property
    def extraction(self) -> Extraction:
        if self._extraction is None:
            self._extraction = Extraction(self.documents)
        return self._extraction

    def use(self, literal: Literal) -> Probe:
        """The probe of a literal, which stays in use until it is let go as often."""
        if literal.slot not in self._slots:
            self._begin(literal.slot)
        number, views = self._slots[literal.slot]
        if literal.reading not in views:
            views[literal.reading] = View(literal.slot, number, literal.reading)
        view = views[literal.reading]
        view.uses += 1
        if literal.test is Test.EQ:
            view.constants[literal.constant] += 1
        return view.probe(literal.test)

    def let_go(self, probe: Probe, constant: object) -> None:
        view = probe.view
        number, views = self._slots[view.slot]
        view.uses -= 1
        if probe.test is Test.EQ:
            view.constants[constant] -= 1
            if not view.constants[constant]:
                del view.constants[constant]
        if not view.uses:
            del views[view.reading]
        if not views:
            self._end(number, view.slot)

    def _begin(self, slot: Slot) -> None:
        number = next(self._count)
        self._slots[slot] = (number, {})
        if isinstance(slot, HeaderSlot):
            self.headers[number] = slot
        else:
            self.documents[number] = slot
            self._extraction = None

    def _end(self, number: int, slot: Slot) -> None:
        del self._slots[slot]
        if isinstance(slot, HeaderSlot):
            del self.headers[number]
        else:
            del self.documents[number]
            self._extraction = None
