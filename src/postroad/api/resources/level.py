"""The network's level: operators see which nodes can read which level, and raise it after an upgrade."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from postroad.api.resources.context import Api, Asking, answer, time_or_none
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import StrictShape
from postroad.core.resources.organizations import NetworkLevelView, NetworkNodeView
from postroad.flow.administration import levels
from postroad.ports import NetworkNode

router = APIRouter(route_class=GuardedRoute, tags=["status"])


class LevelChange(StrictShape):
    level: Annotated[
        int | None, Field(ge=1, le=1_000_000, description="Default: the newest level that this node reads")
    ] = None


@router.get("/v1/level", **returns(NetworkLevelView))
async def read_level(api: Api, caller: Asking) -> Response:
    """The network's level and its nodes. For operators."""
    return answer(level_view(await levels.read_level(api.administration, api.nodes, caller)))


@router.post("/v1/level", **returns(NetworkLevelView))
async def raise_level(api: Api, caller: Asking, wish: LevelChange) -> Response:
    """Raise the network's level, which cannot be undone. Refused while a node cannot read it. For operators."""
    return answer(level_view(await levels.raise_level(api.administration, api.nodes, caller, wish.level)))


def level_view(status: levels.LevelStatus) -> NetworkLevelView:
    nodes = [_node_view(node) for node in status.nodes]
    return NetworkLevelView(level=status.level, newest=status.newest, nodes=nodes, obstacles=status.obstacles)


def _node_view(node: NetworkNode) -> NetworkNodeView:
    seen_at = time_or_none(node.seen_at_us) or ""
    return NetworkNodeView(id=node.id, host=node.host, version=node.version, level=node.level, seen_at=seen_at)
