"""A message as conditions look at it: header, documents, and what the service whose rules are tried knows besides.

Every service on the way gets its own view by ``seen_by``. Kept rule: all views share the documents, so that a body is parsed at
most once for a message, and only if a condition looks into it, and a path is followed once however many services ask for it;
what a view has looked at stays with it, for explanations.
"""

from __future__ import annotations

from postroad.core.model.message import Argument, Part
from postroad.core.model.rule import Place, RuleRole
from postroad.core.routing.attribute_defaults import DefaultAttributes, no_default_attributes
from postroad.core.routing.documents import Documents
from postroad.core.routing.found import Found, Value
from postroad.core.routing.header import Addressed, Header, Party, Seen
from postroad.core.routing.places import Lookup, lookup_of
from postroad.core.routing.shares import Budget

__all__ = ["CONTENT", "NAMES", "Addressed", "Header", "Party", "Subject"]

CONTENT = " (content)"  # behind a place's key: what was seen of element content there
FEW_TEXTS = 8  # that are compared without counting them
NAMES = " (names)"  # behind a place's key: every name of the services seen there


class Subject:
    __slots__ = ("default_attributes", "documents", "looked_at", "service", "shared", "shares", "view")

    def __init__(
        self,
        *,
        header: Header,
        parts: tuple[Part, ...] = (),
        default_attributes: DefaultAttributes = no_default_attributes,
        budget: Budget | None = None,
    ) -> None:
        self.view = Seen(header=header, parts=parts, topic=header.topic)
        self.documents = Documents(parts, budget)
        self.default_attributes = default_attributes
        self.service = ""
        self.looked_at: dict[str, Found] = {}
        self.shares = self.documents.shares
        self.shared: dict[str, Found] = {}  # what any view has found in documents

    def seen_by(
        self,
        service: str,
        *,
        role: RuleRole,
        topic: str,
        arguments: tuple[Argument, ...] = (),
        invoker: str | Party = "",
        default_attributes: DefaultAttributes = no_default_attributes,
        owner: str = "",
    ) -> Subject:
        """The same message as another service on the way sees it; what that costs is counted to its owner."""
        view = object.__new__(Subject)
        view.view = Seen(
            header=self.view.header,
            parts=self.view.parts,
            topic=topic,
            role=role,
            arguments=arguments,
            invoker=_party(invoker),
        )
        view.documents = self.documents
        view.default_attributes = default_attributes
        view.service = service
        view.looked_at = {}
        view.shared = self.shared
        view.shares = self.budget.share_of(owner or service)
        return view

    def given(self, header: Header, parts: tuple[Part, ...]) -> Subject:
        """The message as somebody is given it who is not shown all of it; documents are shared where all are shown."""
        given = Subject(header=header, parts=parts, budget=self.budget)
        if parts is self.view.parts:
            given.documents, given.shared = self.documents, self.shared
        return given

    def found(self, lookup: Lookup) -> Found:
        """What stands at a compiled place; looked up once."""
        found = self.looked_at.get(lookup.key)
        if found is None:
            self.documents.shares = self.shares
            found = self.looked_at[lookup.key] = self._look(lookup)
        return found

    def _look(self, lookup: Lookup) -> Found:
        """What a place in documents holds is the same for all who look, but for default attributes."""
        if not lookup.in_documents or (lookup.by_schema and self.default_attributes is not no_default_attributes):
            return lookup.find(self)
        found = self.shared.get(lookup.key)
        if found is None:
            found = lookup.find(self)
            if not self.shares.is_looked_up:  # what one service may not look at any more, another may
                self.shared[lookup.key] = found
        return found

    @property
    def budget(self) -> Budget:
        return self.documents.budget

    def may_compare(self, found: Found) -> bool:
        """Whether a condition may still compare what was found, one text after the other."""
        return len(found.texts) <= FEW_TEXTS or self.shares.may_compare(len(found.texts))

    def may_match(self, found: Found) -> bool:
        """Whether a pattern may look at what was found: there is a bound to what a service's rules may cost."""
        return self.shares.may_match(found.texts)

    def values(self, place: Place) -> tuple[Value, ...]:
        """What stands at a place: one value for each node, and none when there is nothing."""
        return self.found(lookup_of(place)).values()

    @property
    def faults(self) -> tuple[str, ...]:
        """Why documents could not be looked into, or not wholly, by whoever looks; where others looked is not told."""
        overfull = [self.documents.overfull[key] for key in self.looked_at if key in self.documents.overfull]
        return (*self.documents.faults, *overfull, *self.shares.faults)

    @property
    def seen(self) -> dict[str, tuple[str, ...]]:
        """What was looked at so far, by the places' keys, long texts and long lists cut; what ``telling`` tells from."""
        self.documents.shares = self.shares
        seen: dict[str, tuple[str, ...]] = {}
        for key, found in self.looked_at.items():
            seen[key] = found.texts_shown()
            if found.contents:
                seen[key + CONTENT] = found.contents_shown()
            if found.names:
                seen[key + NAMES] = found.names_shown()
        return seen


def _party(service: str | Party) -> Party | None:
    if isinstance(service, Party):
        return service
    return Party(address=service) if service else None
