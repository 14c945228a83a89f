"""Account linking: a person connects their organization's service with a provider's; either party can end it.

The confirmation is not a resource: the provider sends a message to the network's own service. Rule: the token is only
in the answer to the person who begins, inside the address of the provider's page.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from msgspec.structs import asdict
from pydantic import Field, StrictStr

from postroad.api.pagination import Paging
from postroad.api.resources.context import (
    Api,
    ApiContext,
    Asking,
    answer,
    empty_answer,
    make_page,
    page_answer,
    time_or_none,
)
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import Name, StrictShape, Word
from postroad.core.model.trust import Provisioning
from postroad.core.resources.services import BegunProvisioning, ProvisioningPage, ProvisioningView
from postroad.flow.administration import provisioning as trusting

router = APIRouter(route_class=GuardedRoute, tags=["provisioning"])

PROVISIONINGS = "/v1/organizations/{organization}/provisionings"
PROVISIONING = "/v1/provisionings/{service:service}"


class NewProvisioning(StrictShape):
    provider: Annotated[Word, Field(description="The provider's service, by GCID or address")]
    service: Annotated[Name, Field(description="Name of the service that will represent your account there")]
    return_path: Annotated[
        StrictStr, Field(max_length=500, description="Page of this network to return to afterwards")
    ] = ""


class ProvisioningToken(StrictShape):
    token: Annotated[StrictStr, Field(max_length=64, description="As sent to the provider's page")]


def provisioning_view(api: ApiContext, found: Provisioning) -> ProvisioningView:
    directory = api.network.directory
    return ProvisioningView(
        service=directory.address_of(found.service),
        gcid=found.service,
        provider=directory.address_of(found.provider),
        provider_gcid=found.provider,
        state=found.state(api.network.clock.now_us()).value,
        started_at=time_or_none(found.started_at_us),
        expires_at=time_or_none(found.expires_at_us),
        confirmed_at=time_or_none(found.confirmed_at_us),
        revoked_at=time_or_none(found.revoked_at_us),
    )


@router.post(PROVISIONINGS, **returns(BegunProvisioning, 201))
async def begin_provisioning(api: Api, caller: Asking, organization: str, wish: NewProvisioning) -> Response:
    """Connect a service of yours with a provider's: register it, and learn where to log in as the provider's customer."""
    wanted = trusting.ProvisioningRequest(
        organization=organization, provider=wish.provider, service=wish.service, return_path=wish.return_path
    )
    begun = await trusting.begin_provisioning(api.administration, caller, wanted, api.own_address.url)
    view = BegunProvisioning(**asdict(provisioning_view(api, begun.provisioning)), redirect=begun.redirect)
    return answer(view, 201, headers={"Location": f"/v1/provisionings/{begun.provisioning.service}"})


@router.get(PROVISIONINGS, **returns(ProvisioningPage))
async def list_provisionings(request: Request, api: Api, caller: Asking, organization: str, query: Paging) -> Response:
    """Those that the organization has begun, and those that it has confirmed as a provider."""
    found = trusting.list_provisionings(caller, api.network.directory, organization)
    page = make_page(request, api, caller, query, found, lambda item: item.service)
    return page_answer(request, page._replace(items=[provisioning_view(api, item) for item in page.items]))


@router.get(PROVISIONING, **returns(ProvisioningView))
async def read_provisioning(api: Api, caller: Asking, service: str) -> Response:
    """One provisioning, named by the service of the enterprise."""
    return answer(provisioning_view(api, trusting.find_provisioning(caller, api.network.directory, service)))


@router.post(PROVISIONING + "/inspection", **returns(ProvisioningView))
async def inspect_provisioning(api: Api, caller: Asking, service: str, visit: ProvisioningToken) -> Response:
    """Who wants to be linked: called by the provider, with the GCID and token of the request. Changes nothing."""
    return answer(
        provisioning_view(api, trusting.find_pending_provisioning(api.administration, caller, service, visit.token))
    )


@router.delete(PROVISIONING, status_code=204)
async def revoke_provisioning(api: Api, caller: Asking, service: str) -> Response:
    """End a provisioning, as the enterprise or as the provider: permissions and cookie are gone at once."""
    await trusting.revoke(api.administration, caller, service)
    return empty_answer()
