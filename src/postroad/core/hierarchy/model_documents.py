"""Models as YAML and JSON documents: nested nodes with the services attached to them.

    name: Regions
    topics:
      alarm: {strategy: ancestors, consumers: [Acme/Control room]}
    root:
      tag: application
      topics: [region]
      producers: [Acme/Dashboard]
      nodes:
        - tag: canvas-1
          topics: [region, alarm]
          consumers: [{service: Acme/Map, topics: [region], id: map}]

Rules: nothing is converted silently; an unknown name is an error with its location. A written document is read as the
same model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from postroad.core.hierarchy import model_checks
from postroad.core.hierarchy.model import Attachment, Model, Node, Side, Strategy, Way, usual_id
from postroad.errors import Refused


class ModelFormBase(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base class of the forms in which models are written; unknown fields are refused."""


class AttachmentForm(ModelFormBase):
    service: str
    topics: list[str] = []
    id: str = ""


F = TypeVar("F", bound=ModelFormBase)
Attached = str | AttachmentForm  # a service, or a service with options


class NodeForm(ModelFormBase):
    tag: str
    topics: list[str] = []
    producers: list[Attached] = []
    consumers: list[Attached] = []
    nodes: list[NodeForm] = []


class TopicForm(ModelFormBase):
    way: Way = field(default=Way.DESCENDANTS, name="strategy")
    within: int | None = None
    tags: list[str] = []
    producers: list[Attached] = []
    consumers: list[Attached] = []

    @classmethod
    def of(cls, strategy: Strategy) -> TopicForm:
        return cls(way=strategy.way, within=strategy.within, tags=list(strategy.tags))

    def strategy(self) -> Strategy:
        return Strategy(way=self.way, within=self.within, tags=tuple(self.tags))


class ModelForm(ModelFormBase):
    name: str
    root: NodeForm
    topics: dict[str, Any] = {}  # TopicForm, read one by one: msgspec would not say which one is wrong


# ---- reading ---------------------------------------------------------------------------------------------------------


def parse_model(document: Any) -> Model:
    """Read a model from a document that was parsed from YAML or JSON."""
    form = _read(document, ModelForm)
    by_topic = [(topic, _read(form.topics[topic], TopicForm, _pointer(topic))) for topic in sorted(form.topics)]
    placed = list(_depth_first(form.root))
    attachments = [one for node, _ in placed for one in _attachments(node, node=node.tag)]
    attachments += [one for topic, entry in by_topic for one in _attachments(entry, topic=topic)]
    strategies = [(topic, entry.strategy()) for topic, entry in by_topic]
    return Model(
        name=form.name,
        nodes=tuple(Node(tag=node.tag, under=under, topics=tuple(node.topics)) for node, under in placed),
        attachments=tuple(attachments),
        strategies=tuple((topic, strategy) for topic, strategy in strategies if strategy != Strategy()),
    )


def _depth_first(root: NodeForm) -> Iterator[tuple[NodeForm, str]]:
    """Yield every node with the tag of its parent."""
    waiting = [(root, "")]
    while waiting:
        node, under = waiting.pop()
        yield node, under
        waiting += [(child, node.tag) for child in reversed(node.nodes)]


def _attachments(form: NodeForm | TopicForm, *, node: str = "", topic: str | None = None) -> Iterator[Attachment]:
    for side, attached in ((Side.PRODUCER, form.producers), (Side.CONSUMER, form.consumers)):
        for one in attached:
            given = AttachmentForm(service=one) if isinstance(one, str) else one
            topics = tuple(given.topics) if topic is None else (topic, *given.topics)
            id = given.id or usual_id(side, given.service, node=node, topic=topic or "")
            yield Attachment(id=id, service=given.service, side=side, node=node, topics=topics)


def _read(value: Any, form: type[F], pointer: str = "") -> F:
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as fault:
        raise _malformed(str(fault), pointer) from None
    except RecursionError:
        raise model_checks.nested_too_deep() from None


def _pointer(topic: str) -> str:
    return f"/topics/{topic.replace('~', '~0').replace('/', '~1')}"


def _malformed(fault: str, pointer: str) -> Refused:
    """Return the refusal for an error of msgspec, whose text ends with the position in a notation of its own."""
    said, _, place = fault.partition(" - at `$")
    pointer += place.rstrip("`").replace("[", "/").replace("]", "").replace(".", "/")
    return Refused("value.invalid", f"the model cannot be read at {pointer or '/'}: {said}", pointer=pointer)


# ---- and back --------------------------------------------------------------------------------------------------------


def write_model(model: Model) -> dict[str, Any]:
    """Return a model as a document without default values; the model is one that an index has described."""
    forms: dict[str, NodeForm] = {}
    for node in model.nodes:
        form = forms[node.tag] = NodeForm(tag=node.tag, topics=list(node.topics))
        if node.under:
            forms[node.under].nodes.append(form)
    topics = {topic: TopicForm.of(strategy) for topic, strategy in model.strategies}
    for one in model.attachments:
        entry = forms[one.node] if one.node else topics.setdefault(one.topics[0], TopicForm())
        (entry.producers if one.side is Side.PRODUCER else entry.consumers).append(_attached(one))
    document: dict[str, Any] = msgspec.to_builtins(
        ModelForm(name=model.name, root=forms[model.nodes[0].tag], topics=topics)
    )
    return document


def _attached(attachment: Attachment) -> Attached:
    topics, topic = (attachment.topics, "") if attachment.node else ((), attachment.topics[0])
    usual = usual_id(attachment.side, attachment.service, node=attachment.node, topic=topic)
    if attachment.id == usual and not topics:
        return attachment.service
    id = "" if attachment.id == usual else attachment.id
    return AttachmentForm(service=attachment.service, topics=list(topics), id=id)
