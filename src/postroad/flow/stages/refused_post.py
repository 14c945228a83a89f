"""The journal entry of a rejected post: everything but its documents, so that it can be found and explained.

Rule: client-supplied values are truncated, so a rejected post never takes more space than the message would have.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.model.caller import Caller
from postroad.core.model.journal import MessageRefused, decode
from postroad.core.model.message import Message
from postroad.core.model.part_facts import PartFacts, total_size
from postroad.core.model.route import Copy
from postroad.core.routing.explain.explanation import ServiceTried, pack_tried, unpack_tried
from postroad.core.routing.itinerary import NoRoute
from postroad.errors import Refused
from postroad.flow.stages.posting import Posting, describe_parts
from postroad.ports import BodyAt, Journal

MAX_DETAIL = 500  # characters of a refusal's text
MAX_NAME = 200  # characters of a recipient, a topic, a part's id
MAX_LISTED = 100  # recipients and parts that are listed


def build_refused_entry(
    caller: Caller | None, posting: Posting | None, refusal: Refused, now_us: int, session: str, *, wire_size: int,
    directory: int,
) -> tuple[MessageRefused, bytes | None]:  # fmt: skip
    """Return the entry of a rejected post, and the explanation of its route as the entry's body."""
    entry = MessageRefused(
        at_us=now_us,
        session=session,
        sender=caller.name if caller else "",
        code=refusal.code,
        detail=refusal.detail[:MAX_DETAIL],
        size=0,
        form="",
        wire_size=wire_size,
        directory=directory,
    )
    if posting is None:
        return entry, None
    explanation = pack_tried(refusal.routed.tried) if isinstance(refusal, NoRoute) and refusal.routed.tried else b""
    copies = refusal.routed.copies[:MAX_LISTED] if isinstance(refusal, NoRoute) else ()
    about = _about(entry, posting.message, posting.form)
    shortened = tuple([_shortened(copy) for copy in copies])
    kept = replace(about, copies=shortened, explained=len(explanation), trace=posting.context)
    return kept, explanation or None


def _about(entry: MessageRefused, message: Message, form: str) -> MessageRefused:
    facts = describe_parts(message.parts)
    return replace(
        entry,
        form=form,
        size=total_size(facts),
        handle=message.handle[:MAX_DETAIL],
        named=tuple([recipient.service[:MAX_NAME] for recipient in message.to[:MAX_LISTED]]),
        type=message.type.value,
        topic=message.topic[:MAX_NAME],
        parts=tuple([_described(part) for part in facts[:MAX_LISTED]]),
    )


def _described(part: PartFacts) -> PartFacts:
    return replace(part, id=part.id[:MAX_NAME], content_type=part.content_type[:MAX_NAME], headers=())


def _shortened(copy: Copy) -> Copy:
    return Copy(copy.named[:MAX_NAME], (), copy.code, copy.detail[:MAX_DETAIL])


async def load_refusal(journal: Journal, seq: int) -> MessageRefused:
    """Return the rejected post that is entry ``seq``."""
    return (await _load(journal, seq))[0]


async def load_explained_refusal(journal: Journal, seq: int) -> tuple[MessageRefused, tuple[ServiceTried, ...], bool]:
    """Return the rejected post, the services whose rules were tried, and whether retention dropped that list."""
    entry, at = await _load(journal, seq)
    if not entry.explained or at is None:
        return entry, (), False
    body = await journal.body(at)
    return (entry, unpack_tried(body), False) if body is not None else (entry, (), True)


async def _load(journal: Journal, seq: int) -> tuple[MessageRefused, BodyAt | None]:
    record = (await journal.read(seq - 1, 1)).records[0]
    entry = decode(record.facts)
    if not isinstance(entry, MessageRefused):
        raise ValueError(f"entry {seq} is not a rejected post")
    return entry, record.body
