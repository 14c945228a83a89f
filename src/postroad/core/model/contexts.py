"""Contexts along a route: invokers, the values that each service sees, and which invoker absorbs an error.

Rule: contexts never change. The results of an invoked service are stored beside them and visible to the invocations
concerned, so after every return each context is the same as before the invocation.
"""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.model.journal import MessagePosted, ReturnedContext
from postroad.core.model.message import Property
from postroad.core.model.route import Context, Hop

SENDER = Context(0)


class Ancestry:
    """The invocations of one copy by their numbers."""

    def __init__(self, hops: tuple[Hop, ...], logical: tuple[Hop, ...] = ()) -> None:
        self._hops = hops
        self._logical = {context_of(hop, 0).id for hop in logical}
        self._all: dict[int, tuple[Hop, Context]] = {}
        for place, hop in enumerate(hops):
            context = context_of(hop, place)
            self._all[context.id] = hop, context
        for hop in logical:
            context = context_of(hop, 0)
            self._all[context.id] = hop, context

    def context(self, place: int) -> Context:
        return context_of(self._hops[place], place)

    def hop(self, number: int) -> Hop | None:
        found = self._all.get(number)
        return found[0] if found else None

    def upwards(self, place: int) -> Iterator[Context]:
        """Yield the context of the service at this place, then of each invoker above it; the sender's is left out."""
        context: Context | None = self.context(place)
        while context is not None:
            yield context
            context = self._all[context.parent][1] if context.parent in self._all else None

    def after_error(self, place: int) -> int | None:
        """Return where the message continues after the service at this place failed; None if the route ends.

        The nearest invoker that absorbs the errors of its invoked services handles it: all of these are skipped.
        """
        absorbing = next((context for context in self.upwards(place) if context.absorbs), None)
        if absorbing is None:
            return None
        for further in range(place + 1, len(self._hops)):
            if all(context.id != absorbing.id for context in self.upwards(further)):
                return further
        return None

    def returned_to(self, place: int) -> tuple[int, ...]:
        """Return the invocations that receive what the service at this place returns.

        The service's invoker receives it. If that invoker is a rules-only service and does not isolate what it
        includes, its own invoker receives it too, because a rules-only service passes nothing on.
        """
        reached = []
        for context in self.upwards(place):
            reached.append(context.parent)
            if context.isolated or context.parent not in self._logical:
                break
        return tuple(reached)

    def seen_at(self, place: int, returned: tuple[ReturnedContext, ...]) -> tuple[Property, ...]:
        """Return the properties returned by invoked services that the service at this place sees."""
        if not returned:
            return ()
        visible = []
        for context in self.upwards(place):
            visible.append(context.id)
            if context.isolated:
                break
            visible.append(context.parent)
        return tuple([one for each in returned if each.context in visible for one in each.properties])


def truncate_to_second(at_us: int) -> int:
    """Return the time cut to a full second, in microseconds; an exact time would identify a hidden message."""
    return at_us - at_us % 1_000_000


def context_of(hop: Hop, place: int) -> Context:
    """Return the context of a hop; the default is an invocation by the sender."""
    return hop.context if hop.context is not None else Context(place + 1)


def merge_properties(own: tuple[Property, ...], returned: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return a message's properties with returned ones added; the last one of a name wins."""
    if not returned:
        return own
    return tuple({one.name: one for one in (*own, *returned)}.values())


def is_requester_hidden(message: MessagePosted, place: int, hops: tuple[Hop, ...], logical: tuple[Hop, ...]) -> bool:
    """True if this delivery of a response is on the responder's side, where the requester is hidden."""
    if message.answers is None or not message.answers.shown_requester or place == len(hops) - 1:
        return False
    ancestry = Ancestry(hops, logical)
    *_, outermost = ancestry.upwards(place)
    *_, requester = ancestry.upwards(len(hops) - 1)
    above = ancestry.hop(outermost.id)
    return outermost.id != requester.id and above is not None and above.invoker == message.sender
