"""Posts in a journal, and the posted messages rebuilt from them.

Rule: the journal is trusted as it is. It does not store an explicit route, but the resulting route shows it: a
service without a rule that the sender included was named by the sender. The arguments of refused recipients are lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from postroad.core.admission.admit import ADDRESSED
from postroad.core.model.contexts import context_of
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Context, Copy, Hop
from postroad.core.projection.delivery_rows import posted_content
from postroad.flow.stages.posting import decode_parts, decode_wrapper
from postroad.warehouse.bulk.read.journals import open_journal, read_records

POSTED = b"message.posted"


class LoggedPost(Struct, gc=False, frozen=True):
    """An accepted request or notification; ``body`` is None if it was dropped or never existed."""

    seq: int
    posted: MessagePosted
    body: bytes | None

    @property
    def is_whole(self) -> bool:
        """Return True if everything that rules could test is still there."""
        return self.body is not None or not self.posted.parts

    @property
    def message(self) -> Message:
        facts = self.posted.parts
        parts = (
            decode_parts(facts, self.body) if self.body is not None else tuple([_without_data(one) for one in facts])
        )
        return rebuild_message(self.posted, parts)

    @property
    def wrapper(self) -> bytes:
        """Return the wrapper of a message in an external format: the bytes after its parts."""
        return decode_wrapper(posted_content(self.posted, None), self.body) if self.body is not None else b""


class DroppedBytes(bytes):
    """Bytes that retention has dropped: empty, but with their original size."""

    size: int

    def __len__(self) -> int:
        return self.size


def _without_data(facts: PartFacts) -> Part:
    data = DroppedBytes()
    data.size = facts.size
    return Part(
        id=facts.id, content_type=facts.content_type, data=data, attachment=facts.attachment, headers=facts.headers
    )


def read_posts(journal: str, after: int, until: int) -> Iterator[LoggedPost]:
    """Yield the accepted requests and notifications in a range of entries."""
    with open_journal(journal) as reader:
        for record in read_records(reader, after, until, (POSTED,)):
            posted = decode(record.facts)
            if isinstance(posted, MessagePosted) and posted.type in ADDRESSED:
                yield LoggedPost(record.seq, posted, reader.body_sync(record.body) if record.body is not None else None)


def rebuild_message(posted: MessagePosted, parts: tuple[Part, ...]) -> Message:
    """Rebuild the message of this entry."""
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
    if _has_no_rules(copy):
        return Recipient(copy.named, copy.hops[-1].arguments)
    root = _recipients_number(copy)
    own = next(hop for hop, context in _invocations(copy) if context.id == root)
    return Recipient(copy.named, own.arguments)


def _explicit_route(copies: tuple[Copy, ...]) -> tuple[Recipient, ...]:
    """Return the services that the sender named on the way, which are the same for all copies."""
    copy = next((copy for copy in copies if not copy.code), None)
    if copy is None:
        return ()
    if _has_no_rules(copy):
        return tuple([Recipient(hop.service, hop.arguments) for hop in copy.hops[:-1]])
    recipient = _recipients_number(copy)
    named = [
        (context.id, Recipient(hop.service, hop.arguments))
        for hop, context in _invocations(copy)
        if context.parent == 0 and not context.rule and context.id != recipient
    ]
    return tuple([stop for _, stop in sorted(named, key=lambda one: one[0])])


def _has_no_rules(copy: Copy) -> bool:
    """Return True if no rule changed the route: the sender named every stop, the recipient last."""
    return copy.hops[-1].context is None and not copy.logical


def _invocations(copy: Copy) -> list[tuple[Hop, Context]]:
    delivered = [(hop, context_of(hop, place)) for place, hop in enumerate(copy.hops)]
    return [*delivered, *[(hop, context_of(hop, 0)) for hop in copy.logical]]


def _recipients_number(copy: Copy) -> int:
    """Return the number of the recipient's own invocation: the outermost one above the last stop."""
    known = {context.id: context for _, context in _invocations(copy)}
    context = context_of(copy.hops[-1], len(copy.hops) - 1)
    while context.parent in known:
        context = known[context.parent]
    return context.id
