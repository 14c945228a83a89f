"""Routes in simulated traffic, computed by the network's own router under the current directory.

A route that depends only on header values is cached, with its explanation. If a rule tests documents, which depends on
the topic, every message is routed individually.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Service
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.route import Copy
from postroad.core.model.rule import Combination, Rule
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.itinerary import itineraries
from postroad.testing.traffic.documents import CONTENT_TYPE


class FoundRoute(NamedTuple):
    """A message's copies, and the explanation of their routes."""

    copies: tuple[Copy, ...]
    explanation: bytes


class RouteFinder:
    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self._known: dict[tuple[str, tuple[str, ...], str, MessageType], FoundRoute] = {}
        self._looking = {rule.service for rule in directory.rules.values() if _looks_into_documents(rule)}

    def find(
        self, sender: Service, to: tuple[str, ...], topic: str, type_: MessageType, document: bytes, at_us: int
    ) -> FoundRoute:
        key = (sender.gcid, to, topic, type_)
        found = self._known.get(key)
        if found is None:
            found = self._routed(sender, to, topic, type_, document, at_us)
            if not self._depends_on_document(sender, to):
                self._known[key] = found
        return found

    def _depends_on_document(self, sender: Service, to: tuple[str, ...]) -> bool:
        named = (self.directory.service(name) for name in to)
        return any(one is not None and one.gcid in self._looking for one in (sender, *named))

    def _routed(
        self, sender: Service, to: tuple[str, ...], topic: str, type_: MessageType, document: bytes, at_us: int
    ) -> FoundRoute:
        message = Message(
            to=tuple([Recipient(name) for name in to]),
            type=type_,
            topic=topic,
            parts=(Part(id="order", content_type=CONTENT_TYPE, data=document),),
        )
        caller = Caller(service=sender, level=AuthenticationLevel.KEY, secure=True)
        copies, tried = itineraries(Admitted(message, sender, caller, at_us, 0), self.directory, "json")
        return FoundRoute(copies, pack_tried(tried) if tried else b"")


def _looks_into_documents(rule: Rule) -> bool:
    return isinstance(rule.when, Combination)
