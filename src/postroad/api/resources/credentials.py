"""Credentials of a service: keys (shown once), passwords and certificates. Lists show no secrets."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from pydantic import Field, StrictInt

from postroad.api.pagination import Paging
from postroad.api.resources.accounts import key_view
from postroad.api.resources.context import Api, Asking, answer, empty_answer, make_page, page_answer, time_or_none
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute, proof_of
from postroad.core.configuration.key_possession import KeyPossessionProof
from postroad.core.configuration.shapes import Password, Pem, StrictShape, Word
from postroad.core.identity.expiry import DAY_US
from postroad.core.model.directory import Credential, CredentialKind
from postroad.core.resources.accounts import Challenge, CredentialPage, CredentialView, NewCredential
from postroad.flow.administration import credentials as proofs

router = APIRouter(route_class=GuardedRoute, tags=["credentials"])


class NewServiceKey(StrictShape):
    kind: Literal["key"]
    label: Word
    expires_in_days: Annotated[StrictInt, Field(ge=0, le=3_650, description="0: never")] = 0


class NewServicePassword(StrictShape):
    kind: Literal["password"]
    label: Word
    password: Annotated[Password, Field(min_length=15)]


class NewServiceCertificate(StrictShape):
    kind: Literal["certificate"]
    label: Word
    certificate: Pem
    challenge: Annotated[str, Field(max_length=300, description="From POST /v1/certificate-challenges")] = ""
    signature: Annotated[
        str,
        Field(
            max_length=4_096, description="Signature of the challenge with the certificate's key (SHA-256), in base64"
        ),
    ] = ""


def credential_view(credential: Credential, now_us: int) -> CredentialView:
    return CredentialView(
        **asdict(key_view(credential, now_us)),
        kind=credential.kind.value,
        fingerprint=credential.secret if credential.kind is CredentialKind.CERTIFICATE else "",
        unconfirmed=credential.unconfirmed,
        starts_at=time_or_none(credential.starts_at_us),
    )


@router.get(SERVICE + "/credentials", **returns(CredentialPage))
async def list_credentials(request: Request, api: Api, caller: Asking, service: str, query: Paging) -> Response:
    """A service's credentials, without secrets."""
    _, found = proofs.list_credentials(caller, api.network.directory, service)
    found.sort(key=lambda item: item.id)
    page = make_page(request, api, caller, query, found, lambda item: item.id)
    now_us = api.network.clock.now_us()
    return page_answer(request, page._replace(items=[credential_view(item, now_us) for item in page.items]))


@router.post("/v1/certificate-challenges", **returns(Challenge, 201))
async def make_certificate_challenge(api: Api, caller: Asking) -> Response:
    """A text to be signed with the key of a client certificate, which proves that you have that key."""
    return answer(Challenge(challenge=proofs.make_certificate_challenge(api.administration, caller)), 201)


@router.post(SERVICE + "/credentials", **returns(NewCredential, 201))
async def add_credential(
    request: Request,
    api: Api,
    caller: Asking,
    service: str,
    wish: Annotated[NewServiceKey | NewServicePassword | NewServiceCertificate, Field(discriminator="kind")],
) -> Response:
    """Add a key (generated here, shown once), a password, or a client certificate in PEM.

    A certificate needs proof that you have its key: ``challenge`` and ``signature``, or this connection presents it.
    """
    key: str | UnsetType = UNSET
    match wish:
        case NewServiceKey():
            until_us = api.network.clock.now_us() + wish.expires_in_days * DAY_US if wish.expires_in_days else 0
            key, made = await proofs.add_key(api.administration, caller, service, wish.label, until_us)
        case NewServicePassword():
            made = await proofs.add_password(api.administration, caller, service, wish.label, wish.password)
        case NewServiceCertificate():
            possession = KeyPossessionProof(wish.challenge, wish.signature) if wish.signature else None
            evidence = proofs.KeyEvidence(possession, proof_of(request).certificate_der)
            made = await proofs.add_certificate(
                api.administration, caller, service, wish.label, wish.certificate, evidence
            )
    view = credential_view(made, api.network.clock.now_us())
    return answer(NewCredential(**asdict(view), key=key), 201)


@router.delete(SERVICE + "/credentials/{credential}", status_code=204)
async def remove_credential(api: Api, caller: Asking, service: str, credential: str) -> Response:
    """Remove a credential; it is refused from now on."""
    await proofs.remove(api.administration, caller, service, credential)
    return empty_answer()
