"""Documents of interchanges as separate messages, with topic and properties that describe their origin.

Rules: a document's bytes are those in the interchange. Its envelope data, its syntax and its errors are added as
properties, so that rules and bindings can use them. The topic is the document's kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.interchange.agreement import SplitterAgreement
from postroad.core.interchange.interchange_reader import OpenedInterchanges
from postroad.core.interchange.model import InterchangeFault, InterchangeGroup, Member, Split
from postroad.core.interchange.option_declarations import OptionDeclarations
from postroad.core.interchange.standard import Standard
from postroad.core.model.message import Delivered, Part, Property, PropertyType
from postroad.core.projection.unique_keys import interchange_key
from postroad.core.routing.forward import Forward

VALUE_CHARS = 1_000
FAULTS_TOLD = 10
OWN = ("interchange.", "document.")  # prefixes of properties that are set here and replace those of the message
SINGLE = {"json_lines": "application/json"}  # content types of a single document that differ from those of many
_TEST = {"usage": ("T",), "test": ("1",), "processing": ("T", "D")}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitDocument:
    """A member that is forwarded, with its interchange and position."""

    forward: Forward
    interchange: int
    place: int

    def mark_repeated(self) -> SplitDocument:
        """Return the document marked as part of a repeated interchange."""
        properties = (*(self.forward.properties or ()), Property("interchange.duplicate", "true", PropertyType.BOOLEAN))
        return replace(self, forward=structs.replace(self.forward, properties=properties, once=0))


class SplitDocuments:
    """Builds the documents of a message, in their order."""

    def __init__(self, message: Delivered, splitter: str, receiver: str, agreed: SplitterAgreement) -> None:
        self._message, self._splitter, self._receiver = message, splitter, receiver
        self._agreed = agreed

    def of(self, parts: Sequence[tuple[Part, OpenedInterchanges]]) -> list[SplitDocument]:
        found = [(part, one.standard, split) for part, one in parts for split in one.found]
        documents: list[SplitDocument] = []
        for number, (part, standard, split) in enumerate(found):
            for place, forward in self._in_interchange(part, standard, split, len(documents) + 1):
                documents.append(SplitDocument(forward=forward, interchange=number, place=place))
        return documents

    def _in_interchange(
        self, part: Part, standard: Standard, found: Split, number: int
    ) -> Iterator[tuple[int, Forward]]:
        once, faults = _once(self._splitter, found), _Faults(found.faults)
        kept = [one for one in self._message.properties if not one.name.startswith(OWN)]
        declaring = OptionDeclarations(found)
        declared = [Property(name, text) for name, text in declaring.properties()]
        common = (*kept, *_of_interchange(found, self._message), *declared)
        general = SINGLE.get(standard.name, standard.content_type)
        for place, member in enumerate(found.members):
            if not self._agreed.answers_pass and standard.is_answer is not None and standard.is_answer(member):
                continue
            content_type, own = declaring.of(member, general)
            described = [*_of_member(found, member, number), *(Property(name, text) for name, text in own)]
            yield (
                place,
                Forward(
                    self._receiver,
                    f"document {number}",
                    Part(id=part.id, content_type=content_type, data=bytes(member.data)),
                    alone=True,
                    topic=self._message.topic if self._agreed.topic_kept else _value(member.kind),
                    properties=(*common, *described, *faults.about(member.group, place)),
                    once=once,
                ),
            )
            once, number = 0, number + 1


def _once(splitter: str, found: Split) -> int:
    """Return a key that identifies the interchange; 0 without a number or a date, since numbers may restart."""
    date = found.facts.get("date", "")[:8] or found.facts.get("created", "")[:10]
    if not found.reference or not date:
        return 0
    return interchange_key(splitter, found.standard, found.sender, found.receiver, found.reference, date)


def _of_interchange(found: Split, message: Delivered) -> Iterator[Property]:
    values = {"standard": found.standard, "reference": found.reference, "sender": found.sender}
    values |= {"receiver": found.receiver, "topic": message.topic}
    for name, text in values.items():
        if text:
            yield Property(f"interchange.{name}", _value(text))
    yield Property("interchange.documents", str(len(found.members)), PropertyType.NUMBER)


def _of_member(found: Split, member: Member, number: int) -> Iterator[Property]:
    group = found.groups[member.group] if member.group < len(found.groups) else InterchangeGroup()
    values = {"interchange.group": group.reference, "interchange.groupKind": group.kind}
    values |= {"document.kind": member.kind, "document.reference": member.reference}
    values |= {"document.version": member.facts.get("version", "") + member.facts.get("release", "")}
    for name, text in values.items():
        if text:
            yield Property(name, _value(text))
    yield Property("document.number", str(number), PropertyType.NUMBER)
    if any((found.facts.get(name) or member.facts.get(name)) in values for name, values in _TEST.items()):
        yield Property("interchange.test", "true", PropertyType.BOOLEAN)


class _Faults:
    """Errors of an interchange, reported with each document they concern."""

    def __init__(self, faults: Sequence[InterchangeFault]) -> None:
        self._all = [one for one in faults if one.group < 0 and one.member < 0]
        self._of: dict[tuple[int, int], list[InterchangeFault]] = {}
        for one in faults:
            if one.member >= 0 or one.group >= 0:
                place = (-1, one.member) if one.member >= 0 else (one.group, -1)
                self._of.setdefault(place, []).append(one)

    def about(self, group: int, member: int) -> tuple[Property, ...]:
        reported = [*self._all, *self._of.get((group, -1), ()), *self._of.get((-1, member), ())][:FAULTS_TOLD]
        if not reported:
            return ()
        text = "; ".join(f"{one.code}: {one.text}{' (repaired)' if one.repaired else ''}" for one in reported)
        return (Property("interchange.faults", _value(text)),)


def _value(text: str) -> str:
    """Return the text in a form that every wire format can carry."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)[:VALUE_CHARS]
