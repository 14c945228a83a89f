"""Organizations, their quotas and usage, support requests, and the state of the network."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from postroad.core.resources.base import Page, Resource


class OrganizationLimitsView(Resource, kw_only=True):
    """Quotas of an organization's own posts; 0: the network's default."""

    message_bytes: Annotated[int, Meta(description="Maximum size of a message")]
    stored_bytes: Annotated[int, Meta(description="Maximum bytes of messages that wait for delivery")]
    queued_messages: Annotated[int, Meta(description="Maximum number of deliveries that wait")]


class OrganizationView(Resource, kw_only=True):
    name: str
    description: str
    suspended: str
    posts_per_s: int = field(name="postsPerSecond")
    limits: OrganizationLimitsView
    version: int


class OrganizationPage(Page[OrganizationView]):
    """Organizations, by name."""


class Used(Resource, kw_only=True):
    """Usage of a quota; a limit of 0 means unlimited."""

    used: int
    limit: int


class Usage(Resource, kw_only=True):
    """An organization's usage of its quotas; its own posts count, not messages sent to it."""

    organization: str
    posts_per_s: Annotated[int, Meta(description="Maximum number; 0: no limit")] = field(name="postsPerSecond")
    message_bytes: Annotated[int, Meta(description="Maximum size of a message")]
    stored_bytes: Used
    queued_messages: Used


# ---- support


class NoteView(Resource, kw_only=True):
    at: str
    by: str
    text: str
    operator: bool


class RequestView(Resource, kw_only=True):
    id: str
    organization: str
    subject: str
    session: str
    state: str
    opened_at: str
    changed_at: str
    notes: list[NoteView]


class RequestPage(Page[RequestView]):
    """Support requests, newest first."""


# ---- the network


class Health(Resource, kw_only=True):
    status: Literal["ok"] = "ok"


class NetworkNodeView(Resource, kw_only=True):
    """A process that serves the network."""

    id: Annotated[str, Meta(description="Empty for a version before 0.2, which does not register")]
    host: str
    version: str
    level: Annotated[int, Meta(description="The newest network level that it reads")]
    seen_at: Annotated[str, Meta(description="Empty if it does not register")]


class NetworkLevelView(Resource, kw_only=True):
    """The network's level, and the nodes that were seen in the last ten minutes."""

    level: Annotated[int, Meta(description="The level that all nodes write")]
    newest: Annotated[int, Meta(description="The newest level that this node reads")]
    nodes: list[NetworkNodeView]
    obstacles: Annotated[list[str], Meta(description="Why the level cannot be raised to the newest one")]


class Queue(Resource, kw_only=True):
    service: str
    waiting: int


class NetworkStatus(Resource, kw_only=True):
    journal: Annotated[int, Meta(description="The last entry of the journal; 0 for members")]
    index: Annotated[int, Meta(description="The last entry that the index has; 0 for members")]
    directory: Annotated[int, Meta(description="The entry of the latest change of configuration; 0 for members")]
    behind: int
    queues: list[Queue]
