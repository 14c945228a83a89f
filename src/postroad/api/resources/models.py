"""Models: read and change the tree, attach and detach services, and list the receivers of a topic.

Open to people, and to services for their own attachments.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from msgspec.structs import asdict
from pydantic import BeforeValidator, Field

from postroad.api.pagination import CursorPage, PageQuery, digits, question_key
from postroad.api.resources.context import Api, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute, TrialRoute
from postroad.core.configuration.entries.model_pieces import ModelPiece, NewAttachment, Topic, attachment_of, piece_of
from postroad.core.configuration.shapes import Line
from postroad.core.hierarchy.changes import ModelChange
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.inspection import (
    DeliveryPreview,
    path_to,
    preview_at_node,
    preview_from_service,
    read_attachments_page,
    read_nodes_page,
)
from postroad.core.hierarchy.model import Attachment, Node, Strategy
from postroad.core.hierarchy.model_checks import unknown_node
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.core.resources.models import (
    AttachmentPage,
    AttachmentView,
    Changed,
    ModelView,
    NodePage,
    NodeSummary,
    NodeView,
    Receiver,
    ReceiverPage,
    Shadow,
    TopicView,
)
from postroad.errors import Refused
from postroad.flow.administration import models as changing
from postroad.flow.administration.base import describe_service, find_visible_service
from postroad.flow.administration.models import VisibleModel

router = APIRouter(route_class=GuardedRoute, tags=["models"])
pieces = APIRouter(route_class=TrialRoute, tags=["models"])

MODEL = SERVICE + "/model"
ATTACHMENTS = MODEL + "/attachments"
ATTACHMENT = ATTACHMENTS + "/{name:path}"

MAX_PARTS = 5_000  # models are large, and often read whole
MAX_SHADOWS = 100


class PartsQuery(PageQuery):
    limit: Annotated[int, BeforeValidator(digits), Field(ge=1, le=MAX_PARTS)] = 200
    cursor: Annotated[str, Field(max_length=4_000)] = ""


Parts = Annotated[PartsQuery, Query()]


class ReceiversQuery(PartsQuery):
    topic: Annotated[Topic, Field(description="Session ID of the message")]
    node: Annotated[Line, Field(description="Where it would be published; default: the sender's node")] = ""
    sender: Annotated[Line, Field(description="A producer, by GCID or address; default: any producer at the node")] = ""


def model_view(looked: VisibleModel) -> ModelView:
    index = looked.index
    return ModelView(
        service=looked.service.address,
        nodes=len(index) if index is not None else 0,
        attachments=(index.attached if index is not None else 0) if looked.all_of_it else None,
        root=index.tree.root.tag if index is not None else None,
        topics={topic: topic_view(one) for topic, one in (index.strategies if index is not None else {}).items()},
    )


def topic_view(strategy: Strategy) -> TopicView:
    return TopicView(strategy=strategy.way.value, within=strategy.within, tags=list(strategy.tags))


def node_summary(node: Node) -> NodeSummary:
    return NodeSummary(tag=node.tag, under=node.under, topics=list(node.topics))


def node_view(index: ModelIndex, tag: str) -> NodeView:
    return NodeView(**asdict(node_summary(index.node(tag))), path=path_to(index, tag))


def attachment_view(caller: Caller, one: Attachment, directory: Directory) -> AttachmentView:
    return AttachmentView(
        id=one.id,
        service=describe_service(caller, one.service, directory),
        side=one.side.value,
        node=one.node,
        topics=list(one.topics),
    )


def receiver_view(caller: Caller, one: Attachment, index: ModelIndex, directory: Directory) -> Receiver:
    return Receiver(**asdict(attachment_view(caller, one, directory)), path=path_to(index, one.node))


def shadow_views(caller: Caller, found: DeliveryPreview, looked: VisibleModel, directory: Directory) -> list[Shadow]:
    """The first nodes where the message ends; only the model's owners see the producers."""
    index = looked.index
    return [
        Shadow(
            node=tag,
            path=path_to(index, tag) if index is not None else [],
            producers=[describe_service(caller, one.service, directory) for one in producers]
            if looked.all_of_it
            else [],
        )
        for tag, producers in found.shadowing[:MAX_SHADOWS]
    ]


@router.get(MODEL, **returns(ModelView))
async def read_model(api: Api, caller: Asking, service: str) -> Response:
    """How large a model is, and which of its topics go a way of their own."""
    return answer(model_view(await changing.find_visible_model(api.administration, caller, service)))


@pieces.patch(MODEL, **returns(Changed))
async def change_model(api: Api, caller: Asking, service: str, wish: ModelPiece) -> Response:
    """Add, move, change and remove nodes, attach and detach services, lead topics: all of it at once, or nothing."""
    done = await changing.change(api.administration, caller, service, piece_of(wish), "model changed")
    removed = len(done.gone) + len(done.gone_nodes)
    return answer(Changed(saved=len(done) - removed, removed=removed))


@router.delete(MODEL, status_code=204)
async def remove_model(api: Api, caller: Asking, service: str) -> Response:
    """Remove the whole tree with all attachments; the service stays."""
    await changing.remove(api.administration, caller, service)
    return empty_answer()


@router.get(MODEL + "/nodes", **returns(NodePage))
async def list_nodes(request: Request, api: Api, caller: Asking, service: str, query: Parts) -> Response:
    """The nodes, depth first."""
    looked = await changing.find_visible_model(api.administration, caller, service)
    if looked.index is None:
        return page_answer(request, CursorPage([], None))
    asked = question_key(caller.name, request)
    nodes, after = read_nodes_page(looked.index, api.cursors.read(asked, query.cursor), query.limit)
    return page_answer(
        request, CursorPage(list(map(node_summary, nodes)), api.cursors.write(asked, after) if after else None)
    )


@router.get(MODEL + "/nodes/{name}", **returns(NodeView))
async def read_node(api: Api, caller: Asking, service: str, name: str) -> Response:
    """One node, and the way to it from the root."""
    looked = await changing.find_visible_model(api.administration, caller, service)
    if looked.index is None:
        raise unknown_node(name)
    return answer(node_view(looked.index, name))


@router.get(ATTACHMENTS, **returns(AttachmentPage))
async def list_attachments(request: Request, api: Api, caller: Asking, service: str, query: Parts) -> Response:
    """The attachments, depth first: all of them for the model's owners, their own for others."""
    looked = await changing.find_visible_model(api.administration, caller, service)
    directory = api.network.directory
    if not looked.all_of_it or looked.index is None:
        own = changing.list_visible_attachments(caller, looked, directory)
        page = make_page(request, api, caller, query, own, lambda one: one.id)
    else:
        asked = question_key(caller.name, request)
        found, after = read_attachments_page(looked.index, api.cursors.read(asked, query.cursor), query.limit)
        page = CursorPage(found, api.cursors.write(asked, after) if after else None)
    return page_answer(request, page._replace(items=[attachment_view(caller, one, directory) for one in page.items]))


@router.post(ATTACHMENTS, **returns(AttachmentView, 201))
async def attach(api: Api, caller: Asking, service: str, wish: NewAttachment) -> Response:
    """Attach a service as a producer or consumer, or change that attachment; it applies from the next message on."""
    wanted = attachment_of(wish)
    await changing.change(api.administration, caller, service, ModelChange(attachments=(wanted,)), "attached")
    looked = await changing.find_visible_model(api.administration, caller, service)
    place = f"/v1/services/{looked.service.gcid}/model/attachments/{quote(wanted.id)}"
    view = AttachmentView(
        id=wanted.id, service=wish.service, side=wish.side.value, node=wish.node, topics=list(wish.topics)
    )
    return answer(view, 201, headers={"Location": place})


@router.delete(ATTACHMENT, status_code=204)
async def detach(api: Api, caller: Asking, service: str, name: str) -> Response:
    """Detach: from the next message on, nothing comes from there or goes there."""
    await changing.change(api.administration, caller, service, ModelChange(without_attachments=(name,)), "detached")
    return empty_answer()


@router.get(MODEL + "/receivers", **returns(ReceiverPage))
async def list_receivers(
    request: Request, api: Api, caller: Asking, service: str, query: Annotated[ReceiversQuery, Query()]
) -> Response:
    """Who would receive a message on a topic, with the path to each and the other producers on it; nothing is sent."""
    looked = await changing.find_visible_model(api.administration, caller, service)
    directory, index = api.network.directory, looked.index
    if index is None:
        raise Refused(
            "configuration.conflict", f"{looked.service.address} has no nodes yet; add a root, or import a tree"
        )
    sender = find_visible_service(caller, directory, query.sender).gcid if query.sender else ""
    found = changing.filter_reception(_reception(index, query, sender), looked.service, directory)
    own = set() if looked.all_of_it else changing.list_own_services(caller, directory)
    seen = [one for one in found.receivers if looked.all_of_it or one.service in own]
    numbered = [(f"{number:09d}", one) for number, one in enumerate(seen)]
    page = make_page(request, api, caller, query, numbered, lambda one: one[0])
    return answer(
        ReceiverPage(
            topic=found.topic,
            node=found.node or None,
            strategy=topic_view(found.strategy),
            total=len({one.service for one in found.receivers}),
            shadowed=shadow_views(caller, found, looked, directory),
            items=[receiver_view(caller, one, index, directory) for _, one in page.items],
            next=page.next,
        )
    )


def _reception(index: ModelIndex, query: ReceiversQuery, sender: str) -> DeliveryPreview:
    if sender:
        return preview_from_service(index, sender, query.topic, query.node)
    if not query.node:
        raise Refused("value.invalid", "Specify where the message would be published: a node, or a sender")
    return preview_at_node(index, query.node, query.topic)
