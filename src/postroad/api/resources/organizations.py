"""Organizations, and their suspension by operators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from postroad.api.pagination import Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of
from postroad.api.resources.context import Api, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.api.resources.versions import version_answer
from postroad.core.configuration.document import OrganizationLimitsProfile
from postroad.core.configuration.shapes import Prose, Rate, StrictShape, Word
from postroad.core.model.directory import Organization, Role
from postroad.core.resources.base import build_resource
from postroad.core.resources.configuration import VersionPage
from postroad.core.resources.organizations import (
    OrganizationLimitsView,
    OrganizationPage,
    OrganizationView,
    Usage,
    Used,
)
from postroad.flow.administration import services as directory_changes
from postroad.flow.administration.base import find_visible_organization, require_organization

router = APIRouter(route_class=GuardedRoute, tags=["organizations"])


class OrganizationChange(StrictShape):
    description: Prose = ""
    posts_per_s: Annotated[
        Rate | None, Field(alias="postsPerSecond", description="Default: unchanged. For operators")
    ] = None
    limits: Annotated[OrganizationLimitsProfile | None, Field(description="Default: unchanged. For operators")] = None


class Suspension(StrictShape):
    reason: Word


def organization_view(item: Organization, version: int) -> OrganizationView:
    limits = build_resource(OrganizationLimitsView, item.limits)
    return build_resource(OrganizationView, item, limits=limits, version=version)


@router.get("/v1/organizations", **returns(OrganizationPage))
async def list_organizations(request: Request, api: Api, caller: Asking, query: Paging) -> Response:
    """Your organization; for operators, all of them."""
    directory = api.network.directory
    own = directory.organization(caller.organization)
    found = list(directory.organizations.values()) if caller.operator else [own] if own else []
    found.sort(key=lambda item: item.name.casefold())
    page = make_page(request, api, caller, query, found, lambda item: item.name.casefold())
    views = [
        organization_view(item, directory.object_version("organization", item.name.casefold())) for item in page.items
    ]
    return page_answer(request, page._replace(items=views))


@router.get("/v1/organizations/{organization}", **returns(OrganizationView))
async def read_organization(request: Request, api: Api, caller: Asking, organization: str) -> Response:
    """One organization."""
    found = find_visible_organization(caller, api.network.directory, organization)
    version = api.network.directory.object_version("organization", found.name.casefold())
    return not_modified(request, tag_of(version)) or answer(organization_view(found, version), tag=tag_of(version))


@router.put("/v1/organizations/{organization}", **returns(OrganizationView))
async def replace_organization(
    api: Api, caller: Asking, organization: str, wish: OrganizationChange, if_match: IfMatch = None
) -> Response:
    """Replace the profile of an organization."""
    found = require_organization(caller, api.network.directory, organization, Role.OWNER)
    key = found.name.casefold()
    seen = check_if_match(if_match, api.network.directory.object_version("organization", key))
    limits = wish.limits.limits() if wish.limits is not None else None
    await directory_changes.change_organization(
        administration=api.administration,
        caller=caller,
        name=found.name,
        description=wish.description,
        posts_per_s=wish.posts_per_s,
        limits=limits,
        seen_version=seen,
    )
    directory = api.network.directory
    version = directory.object_version("organization", key)
    return answer(organization_view(directory.organizations[key], version), tag=tag_of(version))


@router.get("/v1/organizations/{organization}/usage", **returns(Usage))
async def read_usage(api: Api, caller: Asking, organization: str) -> Response:
    """An organization's usage and its quotas."""
    found = find_visible_organization(caller, api.network.directory, organization)
    held = await api.network.quota.usage(found.name)
    limits = api.network.quota.limits(found.name)
    return answer(
        Usage(
            organization=found.name,
            posts_per_s=found.posts_per_s or api.posts_per_s,
            message_bytes=limits.message_bytes or api.message_bytes,
            stored_bytes=Used(used=held.stored_bytes, limit=limits.stored_bytes),
            queued_messages=Used(used=held.queued_messages, limit=limits.queued_messages),
        )
    )


@router.get("/v1/organizations/{organization}/versions", **returns(VersionPage))
async def list_organization_versions(
    request: Request, api: Api, caller: Asking, organization: str, query: Paging
) -> Response:
    """Every version of an organization, newest first: time, author, reason and content."""
    found = find_visible_organization(caller, api.network.directory, organization)
    return await version_answer(request, api, caller, query, "organization", found.name.casefold())


@router.put("/v1/organizations/{organization}/suspension", status_code=204)
async def suspend_organization(api: Api, caller: Asking, organization: str, wish: Suspension) -> Response:
    """Suspend an organization: nothing passes through its services until it ends. For operators."""
    find = directory_changes.organization_finder(caller, organization)
    await directory_changes.suspend(api.administration, caller, find, wish.reason)
    return empty_answer()


@router.delete("/v1/organizations/{organization}/suspension", status_code=204)
async def end_organization_suspension(api: Api, caller: Asking, organization: str) -> Response:
    """End an organization's suspension. For operators."""
    find = directory_changes.organization_finder(caller, organization)
    await directory_changes.suspend(api.administration, caller, find, "")
    return empty_answer()
