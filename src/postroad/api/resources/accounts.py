"""People's own accounts: register, log in and out, name, password, and personal API keys (each shown once)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from msgspec.structs import asdict
from pydantic import Field, StrictInt

from postroad.api.pagination import Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of
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
from postroad.api.resources.route_guards import GuardedRoute, OpenRoute, peer_of, proof_of
from postroad.core.configuration.shapes import Email, Key, Line, Name, Password, StrictShape, Word
from postroad.core.identity import api_key
from postroad.core.identity.expiry import DAY_US, credential_warning, days_left
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Person
from postroad.core.resources.accounts import Account, KeyPage, KeyView, LoginLink, NewKey
from postroad.core.resources.base import build_resource
from postroad.flow.access.throttle import normalize_peer
from postroad.flow.administration import account_mails, accounts

opened = APIRouter(route_class=OpenRoute, tags=["account"])
router = APIRouter(route_class=GuardedRoute, tags=["account"])


class Registration(StrictShape):
    organization: Name
    email: Email
    name: Line = ""
    password: Annotated[Password, Field(min_length=15)]


class Login(StrictShape):
    email: Email
    password: Password


class AccountChange(StrictShape):
    name: Line


class PasswordChange(StrictShape):
    current: Password | None = None
    password: Annotated[Password, Field(min_length=15)]


class ResetRequest(StrictShape):
    email: Email


class PasswordReset(StrictShape):
    key: Key
    password: Annotated[Password, Field(min_length=15)]


class NewPersonalKey(StrictShape):
    label: Word
    expires_in_days: Annotated[StrictInt, Field(ge=1, le=3_650)] = 365


def account_view(person: Person, version: int) -> Account:
    return build_resource(Account, person, role=person.role.value, version=version)


def key_view(credential: Credential, now_us: int) -> KeyView:
    return KeyView(
        id=credential.id,
        label=credential.label,
        created_at=time_or_none(credential.created_at_us),
        expires_at=time_or_none(credential.expires_at_us),
        days_left=days_left(credential.expires_at_us, now_us),
        warning=credential_warning(credential, now_us),
    )


@opened.post("/v1/register", **returns(Account, 201))
async def register(request: Request, api: Api, wish: Registration) -> Response:
    """Register an organization and yourself as its first owner."""
    async with api.authenticator.registering.slot(peer_of(request)):
        owner = await accounts.register(api.administration, wish.organization, wish.email, wish.name, wish.password)
    return answer(account_view(owner, 1), 201, headers={"Location": "/v1/account"})


@opened.post("/v1/login", **returns(NewKey))
async def login(request: Request, api: Api, wish: Login) -> Response:
    """Exchange e-mail and password for a personal key that ends after 12 hours."""
    caller = await _by_password(request, api, wish.email, wish.password)
    key, credential = await accounts.log_in(api.administration, accounts.require_person(caller))
    return answer(NewKey(**asdict(key_view(credential, api.network.clock.now_us())), key=key))


@opened.post("/v1/password-reset", status_code=204)
async def request_password_reset(request: Request, api: Api, wish: ResetRequest) -> Response:
    """Send a link for a new password by e-mail. The answer is the same whether the address has an account or not."""
    account_mails.request_password_reset(api.administration, wish.email, normalize_peer(peer_of(request)))
    return empty_answer()


@opened.post("/v1/password-reset/password", status_code=204)
async def reset_password(api: Api, wish: PasswordReset) -> Response:
    """Set a new password with the key of the link; every login ends, and API keys stay valid."""
    await account_mails.reset_password(api.administration, wish.key, wish.password)
    return empty_answer()


@router.post("/v1/logout", status_code=204)
async def logout(request: Request, api: Api, caller: Asking) -> Response:
    """End the key with which this is asked."""
    key = _key_in_use(request)
    if key:
        await accounts.revoke(api.administration, accounts.require_person(caller), key, "logout")
    return empty_answer()


@router.get("/v1/account", **returns(Account))
async def read_account(request: Request, api: Api, caller: Asking) -> Response:
    """Return the account of the caller."""
    person = accounts.require_person(caller)
    version = api.network.directory.object_version("person", person.email.casefold())
    return not_modified(request, tag_of(version)) or answer(account_view(person, version), tag=tag_of(version))


@router.put("/v1/account", **returns(Account))
async def change_account(api: Api, caller: Asking, wish: AccountChange, if_match: IfMatch = None) -> Response:
    """Change your name."""
    person = accounts.require_person(caller)
    key = person.email.casefold()
    seen = check_if_match(if_match, api.network.directory.object_version("person", key))
    await accounts.rename(api.administration, person, wish.name, seen)
    changed, version = api.network.directory.people[key], api.network.directory.object_version("person", key)
    return answer(account_view(changed, version), tag=tag_of(version))


@router.put("/v1/account/password", status_code=204)
async def change_password(request: Request, api: Api, caller: Asking, wish: PasswordChange) -> Response:
    """Set your password; every other login ends. The current one is asked for if there is one."""
    person = accounts.require_person(caller)
    if accounts.has_password(api.network.directory, person):
        await _by_password(request, api, person.email, wish.current or "")
    key = _key_in_use(request)
    await accounts.set_password(api.administration, person, wish.password, key, key if caller.invited else "")
    return empty_answer()


@router.post("/v1/account/login-link", **returns(LoginLink, 201))
async def make_login_link(api: Api, caller: Asking) -> Response:
    """A link that opens the console in a browser and logs you in, once, within a quarter of an hour."""
    key = await accounts.make_link(api.administration, accounts.require_person(caller))
    return answer(LoginLink(url=f"{api.own_address.url}/login/link?once={key}"), 201)


@router.get("/v1/account/keys", **returns(KeyPage))
async def list_keys(request: Request, api: Api, caller: Asking, query: Paging) -> Response:
    """Your personal keys and logins, without the keys themselves."""
    person = accounts.require_person(caller)
    owned = api.network.directory.credentials_of(person=person.email)
    keys = sorted((item for item in owned if item.kind is CredentialKind.KEY), key=lambda item: item.id)
    page = make_page(request, api, caller, query, keys, lambda item: item.id)
    now_us = api.network.clock.now_us()
    return page_answer(request, page._replace(items=[key_view(item, now_us) for item in page.items]))


@router.post("/v1/account/keys", **returns(NewKey, 201))
async def make_key(api: Api, caller: Asking, wish: NewPersonalKey) -> Response:
    """Create a personal key. Only this answer contains it."""
    until_us = api.network.clock.now_us() + wish.expires_in_days * DAY_US
    person = accounts.require_person(caller)
    key, credential = await accounts.make_key(api.administration, person, wish.label, until_us)
    return answer(NewKey(**asdict(key_view(credential, api.network.clock.now_us())), key=key), 201)


@router.delete("/v1/account/keys/{key_id}", status_code=204)
async def revoke_key(api: Api, caller: Asking, key_id: str) -> Response:
    """Revoke one of your keys, at once."""
    await accounts.revoke(api.administration, accounts.require_person(caller), key_id, "key revoked")
    return empty_answer()


async def _by_password(request: Request, api: ApiContext, email: str, password: str) -> Caller:
    secure = proof_of(request).secure
    return await api.authenticator.by_password(email, password, peer_of(request), secure=secure)


def _key_in_use(request: Request) -> str:
    """The id of the key with which the request was authenticated; empty for other proofs."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return (api_key.key_id(text.strip()) or "") if scheme.lower() == "bearer" else ""
