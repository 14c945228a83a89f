"""Changes of a model as people write them, and their conversion to ``ModelChange``.

Rule: only the form is checked here; ``core.hierarchy`` checks whether it is valid for the current model.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr, StringConstraints

from postroad.core.configuration.shapes import LINE, Line, Name, StrictShape, Word
from postroad.core.hierarchy.changes import ModelChange
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way, usual_id
from postroad.core.hierarchy.model_checks import ID_CHARS, MAX_DEPTH, TEXT_CHARS
from postroad.core.hierarchy.saved_model import PLACES_A_CHANGE

Id = Annotated[StrictStr, StringConstraints(min_length=1, max_length=ID_CHARS, pattern=LINE)]
Topic = Annotated[StrictStr, StringConstraints(min_length=1, max_length=TEXT_CHARS, pattern=LINE)]
Topics = Annotated[tuple[Topic, ...], Field(max_length=1_000)]
AtMost = Field(max_length=PLACES_A_CHANGE)


class NodeShape(StrictShape):
    tag: Name
    under: Annotated[Line, Field(description="The tag of the parent node; only the root has none")] = ""
    topics: Topics = ()


class NewAttachment(StrictShape):
    service: Annotated[Word, Field(description="By GCID or address")]
    side: Side
    node: Annotated[Line, Field(description="Tag of the node; default: outside the tree, at one topic")] = ""
    topics: Annotated[Topics, Field(description="Default: all topics of the node, now and later")] = ()
    id: Annotated[Id | None, Field(description="Default: made of side, node and service")] = None


class TopicShape(StrictShape):
    """Which way the messages of a topic go."""

    strategy: Way = Way.DESCENDANTS
    within: Annotated[StrictInt, Field(ge=0, le=MAX_DEPTH, description="Maximum number of levels")] | None = None
    tags: Annotated[
        tuple[Word, ...], Field(max_length=100, description="Only at nodes whose tag matches one of these")
    ] = ()


class Removal(StrictShape):
    nodes: Annotated[tuple[Line, ...], AtMost] = ()
    attachments: Annotated[tuple[Id, ...], AtMost] = ()
    with_descendants: Annotated[
        StrictBool, Field(description="Also removes the descendants of the nodes; otherwise each must be listed")
    ] = False


class ModelPiece(StrictShape):
    """Changes that belong together; what is as wished already stays untouched."""

    nodes: Annotated[tuple[NodeShape, ...], AtMost] = ()
    attachments: Annotated[tuple[NewAttachment, ...], AtMost] = ()
    topics: Annotated[dict[Topic, TopicShape], AtMost] = Field(default_factory=dict)
    remove: Removal = Removal()


def piece_of(wish: ModelPiece) -> ModelChange:
    ways = {topic: Strategy(way=one.strategy, within=one.within, tags=one.tags) for topic, one in wish.topics.items()}
    return ModelChange(
        nodes=tuple(Node(tag=one.tag, under=one.under, topics=one.topics) for one in wish.nodes),
        attachments=tuple(map(attachment_of, wish.attachments)),
        strategies=tuple(ways.items()),
        without_nodes=wish.remove.nodes,
        without_attachments=wish.remove.attachments,
        with_descendants=wish.remove.with_descendants,
    )


def attachment_of(wish: NewAttachment) -> Attachment:
    topic = wish.topics[0] if wish.topics else ""
    id = wish.id or usual_id(wish.side, wish.service, node=wish.node, topic=topic)
    return Attachment(id=id, service=wish.service, side=wish.side, node=wish.node, topics=wish.topics)
