"""Assets of services: stylesheets, tables, lists, schemas and so on, read and written as the files that they are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field

from postroad.api.pagination import PageQuery, Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of, version_to_replace
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import ASSET_TYPES, AssetRoute, GuardedRoute
from postroad.api.resources.versions import version_answer
from postroad.core.configuration.entries.assets import asset_summary
from postroad.core.configuration.shapes import Prose, StrictShape
from postroad.core.model.asset import Asset, AssetKind, asset_key
from postroad.core.model.directory import Role
from postroad.core.resources.configuration import VersionPage
from postroad.core.resources.services import AssetPage, AssetView
from postroad.errors import Refused
from postroad.flow.administration import assets as changing
from postroad.flow.administration.base import require_service

router = APIRouter(route_class=GuardedRoute, tags=["assets"])
contents = APIRouter(route_class=AssetRoute, tags=["assets"])

ASSETS = SERVICE + "/assets"
ASSET = ASSETS + "/{kind}/{name}"
MEDIA_TYPES = {
    AssetKind.STYLESHEET: "application/xslt+xml",
    AssetKind.TABLE: "text/csv; charset=utf-8",
    AssetKind.LIST: "application/json",
    AssetKind.MAP: "application/json",
    AssetKind.QUERY: "text/plain; charset=utf-8",
    AssetKind.SCRIPT: "text/plain; charset=utf-8",
    AssetKind.SCHEMA: "application/xml",
    AssetKind.DTD: "application/xml-dtd",
    AssetKind.JSONSCHEMA: "application/schema+json",
}
FILE: dict[str, Any] = {kind: {"schema": {} if kind.endswith("json") else {"type": "string"}} for kind in ASSET_TYPES}
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", max_length=200, description="* saves the asset only if it does not exist yet"),
]


class AssetQuery(PageQuery):
    kind: Annotated[AssetKind | None, Field(description="Only assets of this kind")] = None


class SaveQuery(StrictShape):
    description: Annotated[Prose | None, Field(description="Default: unchanged")] = None


def asset_view(api: ApiContext, asset: Asset) -> AssetView:
    return AssetView(**asset_summary(asset), version=_version(api, asset))


def _version(api: ApiContext, asset: Asset) -> int:
    return api.network.directory.object_version("asset", asset_key(asset.service, asset.kind, asset.name))


@router.get(ASSETS, **returns(AssetPage))
async def list_assets(
    request: Request, api: Api, caller: Asking, service: str, query: Annotated[AssetQuery, Query()]
) -> Response:
    """The assets of a service, without their contents."""
    found = changing.list_owned_assets(caller, api.network.directory, service, query.kind)
    page = make_page(request, api, caller, query, found, lambda asset: f"{asset.kind.value}/{asset.name}")
    return page_answer(request, page._replace(items=[asset_view(api, asset) for asset in page.items]))


@router.get(ASSET + "/versions", **returns(VersionPage))
async def list_asset_versions(
    request: Request, api: Api, caller: Asking, service: str, kind: AssetKind, name: str, query: Paging
) -> Response:
    """Every version of an asset, newest first: time, author and the digest of its content."""
    owner = require_service(caller, api.network.directory, service, Role.VIEWER)
    return await version_answer(request, api, caller, query, "asset", asset_key(owner.gcid, kind, name))


@contents.get(ASSET, response_class=Response, responses={200: {"content": FILE}})
async def read_asset(request: Request, api: Api, caller: Asking, service: str, kind: AssetKind, name: str) -> Response:
    """The content of an asset."""
    asset = changing.find_asset(caller, api.network.directory, service, kind, name)
    tag = tag_of(_version(api, asset))
    headers = {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Vary": "Authorization",
        "Content-Disposition": "attachment",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return not_modified(request, tag) or Response(asset.content.encode(), 200, headers, media_type=MEDIA_TYPES[kind])


@contents.put(
    ASSET,
    responses={201: {"description": "The asset is new"}},
    **returns(AssetView, requestBody={"required": True, "content": FILE}),
)
async def save_asset(
    request: Request,
    api: Api,
    caller: Asking,
    service: str,
    kind: AssetKind,
    name: str,
    query: Annotated[SaveQuery, Query()],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Save an asset under this name; it is compiled first, and all errors are reported. Replacing needs If-Match."""
    owner = require_service(caller, api.network.directory, service, Role.DEVELOPER)
    content = content_of(await request.body())
    existing = api.network.directory.asset(owner.gcid, kind, name)
    current = api.network.directory.object_version("asset", asset_key(owner.gcid, kind, name))
    seen = version_to_replace(if_match, if_none_match, current, exists=existing is not None)
    kept = existing.description if existing else ""
    asset = Asset(
        service=owner.gcid,
        kind=kind,
        name=existing.name if existing else name,
        content=content,
        description=kept if query.description is None else query.description,
    )
    view = asset_view(api, await changing.save(api.administration, caller, asset, seen))
    return answer(view, 200 if existing else 201, tag=tag_of(view.version))


@contents.delete(ASSET, status_code=204)
async def remove_asset(
    api: Api, caller: Asking, service: str, kind: AssetKind, name: str, if_match: IfMatch = None
) -> Response:
    """Remove an asset; its versions stay stored."""
    asset = changing.find_asset(caller, api.network.directory, service, kind, name, Role.DEVELOPER)
    seen = check_if_match(if_match, _version(api, asset))
    await changing.remove(api.administration, caller, asset, seen)
    return empty_answer()


def content_of(body: bytes) -> str:
    if not body:
        raise Refused("value.invalid", "An asset has content; send it as the body")
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise Refused("value.invalid", "The content is not UTF-8; save the file in UTF-8 and send it again") from None
