"""A message as conditions see it: header, documents, and the view of the service whose rules are evaluated.

Every service on the route gets its own view by ``seen_by``. Rule: all views share the documents, so a body is parsed
at most once for a message, and only if a condition reads it, and a path is evaluated once however many services use
it. The values that a view has read are kept for explanations.
"""

from __future__ import annotations

from postroad.core.model.message import Argument, Part
from postroad.core.model.rule import RuleRole, ValueLocation
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.documents import MessageDocuments
from postroad.core.routing.conditions.header import Addressed, NamedService, RuleHeader, SeenHeader
from postroad.core.routing.conditions.place_content import PlaceContent, PlaceValue
from postroad.core.routing.conditions.places import Lookup, lookup_of
from postroad.core.routing.paths.schema_defaults import DefaultAttributes, no_default_attributes

__all__ = ["CONTENT", "NAMES", "Addressed", "NamedService", "RuleHeader", "Subject"]

CONTENT = " (content)"  # suffix of a location key: the element content that was read
FEW_TEXTS = 8  # number of texts that are compared without counting them
NAMES = " (names)"  # suffix of a location key: all names of the services that were read


class Subject:
    __slots__ = ("default_attributes", "documents", "looked_at", "service", "shared", "shares", "view")

    def __init__(
        self,
        *,
        header: RuleHeader,
        parts: tuple[Part, ...] = (),
        default_attributes: DefaultAttributes = no_default_attributes,
        budget: Budget | None = None,
    ) -> None:
        self.view = SeenHeader(header=header, parts=parts, topic=header.topic)
        self.documents = MessageDocuments(parts, budget)
        self.default_attributes = default_attributes
        self.service = ""
        self.looked_at: dict[str, PlaceContent] = {}
        self.shares = self.documents.shares
        self.shared: dict[str, PlaceContent] = {}  # document contents that any view has read

    def seen_by(
        self,
        service: str,
        *,
        role: RuleRole,
        topic: str,
        arguments: tuple[Argument, ...] = (),
        invoker: str | NamedService = "",
        default_attributes: DefaultAttributes = no_default_attributes,
        owner: str = "",
    ) -> Subject:
        """Return the message as another service sees it; costs are counted to that service's owner."""
        view = object.__new__(Subject)
        view.view = SeenHeader(
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

    def restrict(self, header: RuleHeader, parts: tuple[Part, ...]) -> Subject:
        """Return the message for a viewer that sees only part of it; unrestricted documents are shared."""
        given = Subject(header=header, parts=parts, budget=self.budget)
        if parts is self.view.parts:
            given.documents, given.shared = self.documents, self.shared
        return given

    def find_content(self, lookup: Lookup) -> PlaceContent:
        """Return the content at a compiled location; looked up once."""
        found = self.looked_at.get(lookup.key)
        if found is None:
            self.documents.shares = self.shares
            found = self.looked_at[lookup.key] = self._look(lookup)
        return found

    def _look(self, lookup: Lookup) -> PlaceContent:
        """Look a location up; results in documents are shared by all views that use the same defaults."""
        if not lookup.in_documents or (lookup.by_schema and self.default_attributes is not no_default_attributes):
            return lookup.find(self)
        found = self.shared.get(lookup.key)
        if found is None:
            found = lookup.find(self)
            if not self.shares.is_looked_up:  # another organization's share may not be used up
                self.shared[lookup.key] = found
        return found

    @property
    def budget(self) -> Budget:
        return self.documents.budget

    def may_compare(self, found: PlaceContent) -> bool:
        """Whether a condition may still compare this content, one text after the other."""
        return len(found.texts) <= FEW_TEXTS or self.shares.may_compare(len(found.texts))

    def may_match(self, found: PlaceContent) -> bool:
        """Whether a pattern may be matched, within the limit on the cost of a service's rules."""
        return self.shares.may_match(found.texts)

    def values(self, place: ValueLocation) -> tuple[PlaceValue, ...]:
        """Return the values at a location, one for each node."""
        return self.find_content(lookup_of(place)).values()

    @property
    def faults(self) -> tuple[str, ...]:
        """Return why this view could not read documents completely."""
        overfull = [self.documents.overfull[key] for key in self.looked_at if key in self.documents.overfull]
        return (*self.documents.faults, *overfull, *self.shares.faults)

    @property
    def seen(self) -> dict[str, tuple[str, ...]]:
        """Return the values read so far by location key, with long texts and lists cut."""
        self.documents.shares = self.shares
        seen: dict[str, tuple[str, ...]] = {}
        for key, found in self.looked_at.items():
            seen[key] = found.texts_shown()
            if found.contents:
                seen[key + CONTENT] = found.contents_shown()
            if found.names:
                seen[key + NAMES] = found.names_shown()
        return seen


def _party(service: str | NamedService) -> NamedService | None:
    if isinstance(service, NamedService):
        return service
    return NamedService(address=service) if service else None
