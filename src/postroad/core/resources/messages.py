"""Messages in lists, their status for each recipient, their parts at a stop, and what a search finds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from postroad.core.resources.base import Page, Resource, one_of
from postroad.core.resources.histories import Size, WireSize


class MessageSummary(Resource, kw_only=True):
    session: str
    box: Annotated[str, one_of("sent", "received", "refused")]
    at: str
    sender: str = field(name="from")
    recipients: list[str]
    type: str
    topic: str
    handle: str
    size: Size
    wire_size: WireSize
    state: str
    code: str


class MessagePage(Page[MessageSummary]):
    """Messages of one box, newest first."""


class RecipientStatus(Resource, kw_only=True):
    recipient: str
    state: str
    in_words: str
    code: str = ""
    route: list[str]


class MessageStatus(Resource, kw_only=True):
    session: str
    state: Annotated[str, one_of("accepted", "refused")]
    at: str
    sender: str = field(name="from")
    type: str
    topic: str
    handle: str
    size: Size
    wire_size: WireSize
    recipients: list[RecipientStatus]
    code: str = ""
    detail: str = ""


class PartView(Resource, kw_only=True):
    id: str
    content_type: str
    size: Annotated[int, Meta(description="Bytes")] = 0
    attachment: bool = False


class PartList(Resource, kw_only=True):
    items: list[PartView]


# ---- what a search finds

By = Annotated[list[str], Meta(description="Kind of the match: session, token, handle, order …")]


class WhereaboutsView(Resource, kw_only=True):
    """Where one copy of a message is, in plain words."""

    recipient: Annotated[str, Meta(description="Empty if the message was refused as a whole")]
    state: str
    where: str
    since: str | None
    why: Annotated[str, Meta(description="The reason, as its source stated it")]
    next: Annotated[str, Meta(description="What happens next, or what to do")]
    next_at: Annotated[str | None, Meta(description="When that is; none: unknown")]
    expires_at: Annotated[str | None, Meta(description="When it expires, while it waits")]
    batch: Annotated[str, Meta(description="ID of the batch that it waits in")]
    text: Annotated[str, Meta(description="The complete status as text")]


class FoundMessageView(Resource, kw_only=True, tag_field="kind", tag="message"):
    by: By
    session: str
    at: str
    sender: str = field(name="from")
    recipients: list[str]
    handle: str
    state: Annotated[str, Meta(description="Its state; empty if its recipients differ")]
    whereabouts: Annotated[
        list[WhereaboutsView], Meta(description="Status of each recipient's copy, if the message is the only match")
    ]


class FoundServiceView(Resource, kw_only=True, tag_field="kind", tag="service"):
    gcid: str
    address: str
    by: By


class FoundBatchView(Resource, kw_only=True, tag_field="kind", tag="batch"):
    id: str
    service: Annotated[str, Meta(description="Address of the batcher")]
    state: str
    by: By


Found = FoundMessageView | FoundServiceView | FoundBatchView


class FoundPage(Page[Found]):
    """What a text identifies: services and batches, then messages, newest first."""
