"""What bindings ask of messages, numbered: slots, views (a slot under a reading) and probes (a view under a test); and the
facts of one message, each worked out when first asked for and then kept.

Kept rule: what no binding asks for any more is forgotten, so that an exchange looks only where someone wants it to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import count

from postroad.core.exchange.conditions import Literal, Test
from postroad.core.exchange.extraction import Extraction, Found
from postroad.core.exchange.readings import ERROR, READ, Reading, Values
from postroad.core.exchange.slots import DocumentSlot, HeaderSlot, HeaderValue, Raw, Slot
from postroad.core.exchange.trying import Tried, made_ready, made_ready_for_numbers

View = tuple[int, Reading]  # of a slot's number
Probe = tuple[View, Test]


class Questions:
    """The slots in use, by number, and how many different constants each view is compared with."""

    __slots__ = ("_constants", "_count", "_extraction", "_numbers", "_uses", "distinct", "documents", "headers")

    def __init__(self) -> None:
        self._numbers: dict[Slot, int] = {}
        self._count = count()
        self._uses: Counter[Slot] = Counter()
        self._constants: Counter[tuple[View, object]] = Counter()
        self.distinct: Counter[View] = Counter()
        self.documents: dict[int, DocumentSlot] = {}
        self.headers: dict[int, HeaderSlot] = {}
        self._extraction: Extraction | None = None

    def use(self, literal: Literal) -> View:
        """The view a literal looks at, which stays in use until it is let go as often."""
        slot = literal.slot
        if slot not in self._numbers:
            self._begin(slot)
        number = self._numbers[slot]
        self._uses[slot] += 1
        view = (number, literal.reading)
        if not literal.negated and literal.test is Test.EQ:
            self._constants[view, literal.constant] += 1
            self.distinct[view] += self._constants[view, literal.constant] == 1
        return view

    def let_go(self, literal: Literal) -> None:
        slot = literal.slot
        view = (self._numbers[slot], literal.reading)
        if not literal.negated and literal.test is Test.EQ:
            self._constants[view, literal.constant] -= 1
            if not self._constants[view, literal.constant]:
                del self._constants[view, literal.constant]
                self.distinct[view] -= 1
        self._uses[slot] -= 1
        if not self._uses[slot]:
            self._end(view[0], slot)

    def _begin(self, slot: Slot) -> None:
        number = self._numbers[slot] = next(self._count)
        if isinstance(slot, HeaderSlot):
            self.headers[number] = slot
        else:
            self.documents[number] = slot
            self._extraction = None

    def _end(self, number: int, slot: Slot) -> None:
        del self._uses[slot], self._numbers[slot]
        if isinstance(slot, HeaderSlot):
            del self.headers[number]
        else:
            del self.documents[number]
            self._extraction = None

    @property
    def in_use(self) -> bool:
        return bool(self._uses or self._numbers or self._constants or +self.distinct)

    @property
    def extraction(self) -> Extraction:
        if self._extraction is None:
            self._extraction = Extraction(self.documents)
        return self._extraction


class Facts:
    """What one message says to all questions."""

    __slots__ = ("_broken", "_tried", "_values", "found")

    def __init__(self, found: Found | None, headers: Mapping[str, HeaderValue], questions: Questions) -> None:
        self.found: dict[int, Raw] = {} if found is None else found  # type: ignore[assignment]  # lists of str are raw
        self._broken: set[int] = set(questions.documents) if found is None else set()
        self._values: dict[View, Values] = {}
        self._tried: dict[Probe, Tried | None] = {}
        for number, slot in questions.headers.items():
            item = headers.get(slot.name)
            if slot.declared and not slot.takes(item):
                self._broken.add(number)
            elif item is not None:
                self.found[number] = (item,)

    def values(self, view: View) -> Values:
        found = self._values.get(view)
        if found is None:
            number, reading = view
            found = ERROR if number in self._broken else READ[reading](self.found.get(number, ()))
            self._values[view] = found
        return found

    def tried(self, probe: Probe) -> Tried:
        """Whether any value passes, as a function of the constant."""
        ready = self._tried.get(probe)
        if ready is None:
            (view, test) = probe
            make = made_ready_for_numbers if view[1] is Reading.ITEM_NUMBER else made_ready
            ready = self._tried[probe] = make(test, self.values(view).values)
        return ready
