"""Posts as a journal has them, and the messages that were posted, made again from what was written down.

Kept rule: what the journal says is taken as it is. It does not keep an explicit route as such, but the route that came of it
tells: what has no rule and was brought in by the sender was named by it. Of a recipient that was refused, the arguments are gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from postroad.core.admission.admit import ADDRESSED
from postroad.core.delivery.waiting import posted_content
from postroad.core.model.journal import Context, Copy, Hop, MessagePosted, decode
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.part_facts import PartFacts
from postroad.core.routing.contexts import context_of
from postroad.flow.posting import parts_of, setting_in
from postroad.warehouse.bulk.journals import opened, records

POSTED = b"message.posted"


class Logged(Struct, gc=False, frozen=True):
    """A request or notification that was accepted; ``body`` None means that it is no longer kept, or was never there."""

    seq: int
    posted: MessagePosted
    body: bytes | None

    @property
    def is_whole(self) -> bool:
        """Whether everything that rules could look at is still there."""
        return self.body is not None or not self.posted.parts

    @property
    def message(self) -> Message:
        facts = self.posted.parts
        parts = parts_of(facts, self.body) if self.body is not None else tuple([_without_data(one) for one in facts])
        return as_posted(self.posted, parts)

    @property
    def setting(self) -> bytes:
        """How the message was wrapped, where it came in a plain format: what lies behind its parts."""
        return setting_in(posted_content(self.posted, None), self.body) if self.body is not None else b""


class Gone(bytes):
    """Bytes that retention has dropped: there are none, but how many there were is still known."""

    size: int

    def __len__(self) -> int:
        return self.size


def _without_data(facts: PartFacts) -> Part:
    data = Gone()
    data.size = facts.size
    return Part(
        id=facts.id, content_type=facts.content_type, data=data, attachment=facts.attachment, headers=facts.headers
    )


def posts(journal: str, after: int, until: int) -> Iterator[Logged]:
    """The accepted requests and notifications among the entries after one and until another."""
    with opened(journal) as reader:
        for record in records(reader, after, until, (POSTED,)):
            posted = decode(record.facts)
            if isinstance(posted, MessagePosted) and posted.type in ADDRESSED:
                yield Logged(record.seq, posted, reader.body_sync(record.body) if record.body is not None else None)


def as_posted(posted: MessagePosted, parts: tuple[Part, ...]) -> Message:
    """The message that this entry was made of."""
    return Message(
        sender=posted.sender,
        to=tuple([_recipient(copy) for copy in posted.copies]),
        type=posted.type,
        topic=posted.topic,
        handle=posted.handle,
        possible_duplicate=posted.possible_duplicate,
        expires_at_us=posted.expires_at_us,
        route=_explicit_route(posted.copies),
        properties=posted.properties,
        status=posted.status,
        parts=parts,
        routing=posted.routing,
    )


def _recipient(copy: Copy) -> Recipient:
    if copy.code:
        return Recipient(copy.named)
    if _is_plain(copy):
        return Recipient(copy.named, copy.hops[-1].arguments)
    root = _recipients_number(copy)
    own = next(hop for hop, context in _invocations(copy) if context.id == root)
    return Recipient(copy.named, own.arguments)


def _explicit_route(copies: tuple[Copy, ...]) -> tuple[Recipient, ...]:
    """What the sender named on the way is the same for all copies."""
    copy = next((copy for copy in copies if not copy.code), None)
    if copy is None:
        return ()
    if _is_plain(copy):
        return tuple([Recipient(hop.service, hop.arguments) for hop in copy.hops[:-1]])
    recipient = _recipients_number(copy)
    named = [
        (context.id, Recipient(hop.service, hop.arguments))
        for hop, context in _invocations(copy)
        if context.parent == 0 and not context.rule and context.id != recipient
    ]
    return tuple([stop for _, stop in sorted(named, key=lambda one: one[0])])


def _is_plain(copy: Copy) -> bool:
    """Whether no rule had a hand in it: then the sender named all, the recipient last."""
    return copy.hops[-1].context is None and not copy.logical


def _invocations(copy: Copy) -> list[tuple[Hop, Context]]:
    delivered = [(hop, context_of(hop, place)) for place, hop in enumerate(copy.hops)]
    return [*delivered, *[(hop, context_of(hop, 0)) for hop in copy.logical]]


def _recipients_number(copy: Copy) -> int:
    """The number of the recipient's own invocation: the outermost one above the last stop, which may stand in its place."""
    known = {context.id: context for _, context in _invocations(copy)}
    context = context_of(copy.hops[-1], len(copy.hops) - 1)
    while context.parent in known:
        context = known[context.parent]
    return context.id
