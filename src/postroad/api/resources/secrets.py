"""Stored secrets of organizations and services, and the rotation of the network's keys. No answer contains a secret."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from postroad.api.pagination import Paging
from postroad.api.resources.conditional import IfMatch, tag_of, version_to_replace
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.caller import Caller
from postroad.core.model.secret_entries import SECRET, secret_key
from postroad.core.model.stored_secrets import StoredTokenKey
from postroad.core.resources.secrets import (
    MasterKeyRotated,
    MasterKeyView,
    NetworkKeysView,
    SecretPage,
    SecretView,
    TokenKeyView,
)
from postroad.flow.administration import key_rotation, secrets
from postroad.flow.administration.key_rotation import NetworkKeys
from postroad.flow.administration.secrets import ListedSecret, Place

ORGANIZATION_SECRETS = "/v1/organizations/{organization}/secrets"
SERVICE_SECRETS = SERVICE + "/secrets"

router = APIRouter(route_class=GuardedRoute, tags=["secrets"])


class SecretValue(StrictShape):
    value: Annotated[
        str,
        Field(
            min_length=1,
            max_length=secrets.MAX_SECRET_BYTES,
            repr=False,
            description="The secret: a password, a token, or keys and certificates in PEM; at most 64 KiB of UTF-8",
        ),
    ]


def secret_view(listed: ListedSecret) -> SecretView:
    record = listed.record
    return SecretView(
        name=record.name,
        service=listed.service.address if listed.service is not None else record.service,
        version=record.version,
        set_by=record.set_by,
        set_at=write_time(record.set_at_us),
        used_by=[service.address for service in listed.used_by],
        is_stored=listed.is_stored,
    )


@router.get(ORGANIZATION_SECRETS, **returns(SecretPage))
async def list_organization_secrets(
    request: Request, api: Api, caller: Asking, organization: str, query: Paging
) -> Response:
    """The secrets of an organization and of its services: names, versions, and who set them when."""
    return _page(request, api, caller, query, await secrets.list_secrets(api.network, caller, organization))


@router.put(ORGANIZATION_SECRETS + "/{name}", **returns(SecretView))
async def set_organization_secret(
    api: Api, caller: Asking, organization: str, name: str, wish: SecretValue, if_match: IfMatch = None
) -> Response:
    """Set a secret that all services of the organization may use as ``secret:NAME``; for its owners. If-Match is optional."""
    return await _set(api, caller, secrets.place_for_organization(caller, organization, name), wish, if_match)


@router.delete(ORGANIZATION_SECRETS + "/{name}", status_code=204)
async def remove_organization_secret(api: Api, caller: Asking, organization: str, name: str) -> Response:
    """Remove a secret; what refers to it fails from now on."""
    place = secrets.place_for_organization(caller, organization, name)
    await secrets.remove_secret(api.administration, caller, place)
    return empty_answer()


@router.get(SERVICE_SECRETS, **returns(SecretPage))
async def list_service_secrets(request: Request, api: Api, caller: Asking, service: str, query: Paging) -> Response:
    """The secrets that only this service may use."""
    return _page(request, api, caller, query, await secrets.list_service_secrets(api.network, caller, service))


@router.put(SERVICE_SECRETS + "/{name}", **returns(SecretView))
async def set_service_secret(
    api: Api, caller: Asking, service: str, name: str, wish: SecretValue, if_match: IfMatch = None
) -> Response:
    """Set a secret that only this service may use as ``secret:NAME``; it goes before its organization's of the same name."""
    return await _set(api, caller, secrets.place_for_service(caller, service, name), wish, if_match)


@router.delete(SERVICE_SECRETS + "/{name}", status_code=204)
async def remove_service_secret(api: Api, caller: Asking, service: str, name: str) -> Response:
    """Remove a secret of a service; of a service that does not exist any more by its GCID."""
    await secrets.remove_secret(api.administration, caller, secrets.place_for_removal(caller, service, name))
    return empty_answer()


@router.get("/v1/keys", **returns(NetworkKeysView))
async def list_network_keys(api: Api, caller: Asking) -> Response:
    """Which master keys and token keys are in use, by their IDs; for operators."""
    return answer(keys_view(await key_rotation.find_keys(api.network, caller)))


@router.post("/v1/keys/rotate-master", **returns(MasterKeyRotated))
async def rotate_master_key(api: Api, caller: Asking) -> Response:
    """Seal all keys again with the newest master key, without touching a secret; repeat the call if it was interrupted."""
    done = await key_rotation.rotate_master(api.network, caller)
    keys = await key_rotation.find_keys(api.network, caller)
    return answer(MasterKeyRotated(master_key=keys.use.in_use, sealed_again=done))


@router.post("/v1/keys/rotate-token", **returns(TokenKeyView))
async def rotate_token_key(api: Api, caller: Asking) -> Response:
    """Use a new key for the tokens of later deliveries; tokens of earlier deliveries stay valid."""
    return answer(_token_key_view(await key_rotation.rotate_token(api.network, caller), is_newest=True))


async def _set(api: ApiContext, caller: Caller, place: Place, wish: SecretValue, if_match: str | None) -> Response:
    directory, seen = api.network.directory, None
    if if_match:
        scope = place(directory)
        current = directory.object_version(SECRET, secret_key(*scope))
        seen = version_to_replace(if_match, None, current, exists=directory.secret(*scope) is not None)
    listed = await secrets.set_secret(api.administration, caller, place, wish.value, seen)
    return answer(secret_view(listed), tag=tag_of(listed.record.version))


def keys_view(keys: NetworkKeys) -> NetworkKeysView:
    counts = {**dict.fromkeys(keys.available, 0), **keys.use.counts}
    return NetworkKeysView(
        master_keys=[
            MasterKeyView(id=one, available=one in keys.available, in_use=one == keys.use.in_use, sealed_keys=count)
            for one, count in counts.items()
        ],
        token_keys=[
            _token_key_view(key, is_newest=place == len(keys.token_keys))
            for place, key in enumerate(keys.token_keys, 1)
        ],
    )


def _token_key_view(key: StoredTokenKey, *, is_newest: bool) -> TokenKeyView:
    if key.from_seq is None:
        state = "announced"
    elif key.overlap_to_seq is None:
        state = "overlapping"
    else:
        state = "in use" if is_newest else "old"
    return TokenKeyView(id=key.id, added_at=write_time(key.added_at_us), state=state, from_entry=key.from_seq)


def _page(request: Request, api: ApiContext, caller: Caller, query: Paging, found: list[ListedSecret]) -> Response:
    found.sort(key=_position)
    page = make_page(request, api, caller, query, found, _position)
    return page_answer(request, page._replace(items=[secret_view(one) for one in page.items]))


def _position(listed: ListedSecret) -> str:
    return f"{listed.record.name.casefold()}/{listed.record.service}"
