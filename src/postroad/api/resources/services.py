"""Services: create (the network assigns the GCID), replace, remove, suspend, and look up.

Other organizations see a public service as the directory shows it, and do not see private ones.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from msgspec.structs import fields
from pydantic import Field

from postroad.api.pagination import PageQuery, Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of, tag_of_view
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.organizations import Suspension
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.api.resources.versions import version_answer
from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.configuration.shapes import Line, Name, StrictShape
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.resources.configuration import VersionPage
from postroad.core.resources.services import DirectoryPage, PublicService
from postroad.flow.administration import services as directory_changes
from postroad.flow.administration.base import find_visible_service, require_service

router = APIRouter(route_class=GuardedRoute, tags=["services"])


class NewService(ServiceProfile):
    organization: Name
    name: Name


class ServiceChange(ServiceProfile):
    name: Name


class ServiceView(ServiceProfile):
    """A service as its own organization sees it."""

    gcid: str
    address: str
    organization: str
    name: str
    suspended: str
    version: int


class ServicePage(StrictShape):
    items: list[ServiceView]
    next: str | None = None


class ServiceQuery(PageQuery):
    organization: Annotated[Line, Field(description="For operators: organization of the services")] = ""


class DirectoryQuery(PageQuery):
    text: Annotated[Line, Field(description="Words that all occur in address, description, category or operations")] = (
        ""
    )
    category: Line = ""
    format: Line = ""
    operation: Line = ""


def service_view(api: ApiContext, service: Service) -> dict[str, Any]:
    version = api.network.directory.object_version("service", service.gcid)
    return _identity(service) | profile_of(service) | {"suspended": service.suspended, "version": version}


def public_view(service: Service) -> PublicService:
    known = _identity(service) | profile_of(service)
    # The exceptions of a policy are shown to its owner only.
    known["policy"] = {name: value for name, value in known["policy"].items() if name != "exceptFor"}
    return PublicService(**{one.name: known[one.encode_name] for one in fields(PublicService)})


def _identity(service: Service) -> dict[str, Any]:
    return {
        "gcid": service.gcid,
        "address": service.address,
        "organization": service.organization,
        "name": service.name,
    }


def is_own(caller: Caller, service: Service) -> bool:
    return caller.can_view(service.organization)


@router.get("/v1/directory", **returns(DirectoryPage), tags=["directory"])
async def search_directory(
    request: Request, api: Api, caller: Asking, query: Annotated[DirectoryQuery, Query()]
) -> Response:
    """Find services: public ones, and your own."""
    found = directory_changes.list_visible_services(
        caller,
        api.network.directory,
        text=query.text,
        category=query.category,
        format_=query.format,
        operation=query.operation,
    )
    page = make_page(request, api, caller, query, found, lambda service: service.gcid)
    return page_answer(request, page._replace(items=[public_view(service) for service in page.items]))


@router.get("/v1/services", response_model=ServicePage)
async def list_services(
    request: Request, api: Api, caller: Asking, query: Annotated[ServiceQuery, Query()]
) -> Response:
    """The services of your organization."""
    found = directory_changes.list_owned_services(caller, api.network.directory, query.organization)
    page = make_page(request, api, caller, query, found, lambda service: service.gcid)
    return page_answer(request, page._replace(items=[service_view(api, service) for service in page.items]))


@router.post("/v1/services", status_code=201, response_model=ServiceView)
async def create_service(api: Api, caller: Asking, wish: NewService) -> Response:
    """Make a service; the network draws its GCID."""
    service = await directory_changes.create(api.administration, caller, wish.organization, wish.name, wish)
    view = service_view(api, service)
    return answer(view, 201, tag=tag_of(view["version"]), headers={"Location": f"/v1/services/{service.gcid}"})


@router.get(SERVICE + "/versions", **returns(VersionPage))
async def list_service_versions(request: Request, api: Api, caller: Asking, service: str, query: Paging) -> Response:
    """Every version of a service, newest first: time, author, reason and content."""
    found = require_service(caller, api.network.directory, service, Role.VIEWER)
    return await version_answer(request, api, caller, query, "service", found.gcid)


@router.put(SERVICE + "/suspension", status_code=204)
async def suspend_service(api: Api, caller: Asking, service: str, wish: Suspension) -> Response:
    """Suspend a service: routes through it are invalid until it ends. For operators."""
    find = directory_changes.service_finder(caller, service)
    await directory_changes.suspend(api.administration, caller, find, wish.reason)
    return empty_answer()


@router.delete(SERVICE + "/suspension", status_code=204)
async def end_service_suspension(api: Api, caller: Asking, service: str) -> Response:
    """End a service's suspension. For operators."""
    find = directory_changes.service_finder(caller, service)
    await directory_changes.suspend(api.administration, caller, find, "")
    return empty_answer()


@router.get(SERVICE, **returns(PublicService) | {"response_model": ServiceView})
async def read_service(request: Request, api: Api, caller: Asking, service: str) -> Response:
    """One service by GCID or address: complete for its own organization, the directory entry for others."""
    found = find_visible_service(caller, api.network.directory, service)
    if is_own(caller, found):
        own = service_view(api, found)
        tag = tag_of(own["version"])
        return not_modified(request, tag) or answer(own, tag=tag)
    view = public_view(found)
    tag = tag_of_view(view)
    return not_modified(request, tag) or answer(view, tag=tag)


@router.put(SERVICE, response_model=ServiceView)
async def replace_service(
    api: Api, caller: Asking, service: str, wish: ServiceChange, if_match: IfMatch = None
) -> Response:
    """Replace a service's profile; omitted fields return to their defaults."""
    found = require_service(caller, api.network.directory, service, Role.DEVELOPER)
    seen = check_if_match(if_match, api.network.directory.object_version("service", found.gcid))
    changed = await directory_changes.replace_service(api.administration, caller, found.gcid, wish.name, wish, seen)
    view = service_view(api, changed)
    return answer(view, tag=tag_of(view["version"]))


@router.delete(SERVICE, status_code=204)
async def remove_service(api: Api, caller: Asking, service: str, if_match: IfMatch = None) -> Response:
    """Remove a service and its credentials; its history stays."""
    found = require_service(caller, api.network.directory, service, Role.DEVELOPER)
    seen = check_if_match(if_match, api.network.directory.object_version("service", found.gcid))
    await directory_changes.remove(api.administration, caller, found.gcid, seen)
    return empty_answer()
