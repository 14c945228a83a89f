"""Model service: routes a message by its sender's position in a tree of topics.

The sender is attached to the model as a producer and publishes a topic, the topic of its message. The message reaches
the consumers of that topic at the sender's node and below, or in the topic's own direction. A sender that does not
produce the topic is refused with an explanation. A message that an exchange or another model forwards still belongs
to its original sender.
"""

from __future__ import annotations

from postroad.core.admission.connection_rights import is_open_to
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, Property, PropertyType
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forward import Forward
from postroad.errors import Refused
from postroad.flow.stages.forward import ForwardResult
from postroad.services.arguments import Arguments
from postroad.services.service import ServiceResult, Tools

COPIES = "model.copies"
NODE = "node"  # the argument or property with which a sender chooses one of its nodes
BESIDE = "#"  # instead of a node: beside the tree
MAX_NAMED = 10


class ModelService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        index = await tools.models.load(tools.service.gcid)
        if index is None:
            raise Refused(
                "configuration.conflict", f"{tools.service.address} has no nodes yet; its owner must import a tree"
            )
        source = find_producer(message, index, tools.service, tools.directory)
        consumers = index.publish(source.id, message.topic)
        return ServiceResult(forwards=tuple([Forward(one.service, one.id) for one in consumers]))

    async def finish_forward(self, returned: ServiceResult, onward: ForwardResult, tools: Tools) -> ServiceResult:
        """Return the number of receivers to a requester."""
        return ServiceResult(parts=(), properties=(Property(COPIES, str(onward.copies), PropertyType.NUMBER),))


def find_producer(message: Delivered, index: ModelIndex, model: Service, directory: Directory) -> Attachment:
    """Return the attachment as which the sender publishes; raises Refused if the model is closed to it."""
    sender = directory.services.get(message.sender_gcid)
    is_open = sender is not None and is_open_to(model, sender, directory)
    sources = index.sources(message.sender_gcid, message.topic) if is_open else []
    node = _named_node(message)
    if node:
        sources = [one for one in sources if (one.node or BESIDE) == node]
    if not sources:
        raise _no_producer(message, node, model)
    nodes = list(dict.fromkeys(one.node or BESIDE for one in sources))
    if len(nodes) > 1:
        raise Refused(
            "value.invalid",
            f"{message.sender} is a producer of topic {message.topic[:80]!r} at several nodes "
            f"({', '.join(nodes[:MAX_NAMED])}); set the node in the property or argument {NODE!r}",
        )
    return sources[0]


def _named_node(message: Delivered) -> str:
    given = Arguments(message.arguments).get(NODE)
    return given or next((one.value for one in message.properties if one.name == NODE), "")


def _no_producer(message: Delivered, node: str, model: Service) -> Refused:
    where = f" at node {node[:80]!r}" if node else ""
    what = f"topic {message.topic[:80]!r}" if message.topic else "messages without a topic"
    return Refused(
        "permission.denied",
        f"{message.sender} is not a producer of {what}{where} in {model.address}; "
        "attach it as one, or post with another topic",
    )
