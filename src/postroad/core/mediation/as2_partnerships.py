"""Finds both AS2 identities of a partnership, and its terms, from a service's profile.

Rules: a partnership is found by the organization and both names, so that a partner may know us by several names. Keys
are passed in and stay in memory.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, cast
from urllib.parse import SplitResult, urlsplit

from cryptography import x509

from postroad.core.codecs.as2 import As2Identity, PartnershipTerms
from postroad.core.codecs.cms import Identity, identities_from_pem
from postroad.core.model.configuration_objects import AS2_IDENTITIES
from postroad.core.model.directory import As2, Service
from postroad.core.model.snapshot import Directory

USUAL_PORTS = {"http": 80, "https": 443}


class Partnership(NamedTuple):
    """Our identity, the partner's, and the agreed terms."""

    own: As2Identity
    partner: As2Identity
    agreement: PartnershipTerms


def partner_between(directory: Directory, partner: str, own: str, organization: str = "") -> Service | None:
    """Return the organization's service that represents the AS2 partner with this name and uses the other name for us.

    Without an organization: the first service in the whole network with both names, for partners that post to the
    shared address.
    """
    if organization:
        return _known(directory).get((organization.casefold(), partner, own))
    claim = directory.as2_identities.get(shared_names_key(partner, own))
    if claim is not None:
        found = directory.services.get(claim.service)
        return (
            found
            if found is not None and found.as2 is not None and found.as2.identity_names == (partner, own)
            else None
        )
    if directory.object_version(AS2_IDENTITIES, shared_names_key(partner, own)):  # the first owner has left
        return None
    return next((one for (_, *names), one in _known(directory).items() if names == [partner, own]), None)


def shared_names_key(partner: str, own: str) -> str:
    """The key under which a service claims both names at the address that all organizations share."""
    return f"{partner}\n{own}"


def _known(directory: Directory) -> dict[tuple[str, str, str], Service]:
    known: dict[tuple[str, str, str], Service] | None = directory.cache.get("as2")
    if known is None:
        partners = [(one, one.as2) for one in directory.services.values() if one.as2 is not None]
        known = {(one.organization.casefold(), *as2.identity_names): one for one, as2 in partners}
        directory.cache["as2"] = known
    return known


def may_be_sent(service: Service, url: str) -> bool:
    """Whether MDNs of the partner may be posted there: to its own server, or below an agreed address."""
    agreed = service.as2.receipt_urls if service.as2 is not None else ()
    if agreed:
        return any(_is_below(url, known, urlsplit(known).path) for known in agreed)
    places = service.push.places if service.push is not None else ()
    return any(_is_below(url, place.url, "") for place in places)


def _is_below(url: str, known: str, path: str) -> bool:
    try:
        asked, agreed = urlsplit(url), urlsplit(known)
        same_server = _server_of(asked) == _server_of(agreed)
    except ValueError:
        return False
    return same_server and not asked.username and ".." not in asked.path and asked.path.startswith(path)


def _server_of(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or USUAL_PORTS.get(url.scheme)


def partnership(as2: As2, key_pem: str, receipt_url: str = "") -> Partnership:
    """Return the partnership; ``key_pem`` is the content of ``secret_from``, ``receipt_url`` the URL for asynchronous MDNs."""
    return Partnership(
        own=As2Identity(name=as2.own_name, identities=_identities(key_pem) if key_pem else ()),
        partner=As2Identity(name=as2.name, certificates=tuple([_certificate(pem) for pem in as2.certificates])),
        agreement=PartnershipTerms(
            sign=as2.sign,
            encrypt=as2.encrypt,
            compress=cast(Literal["", "before", "after"], as2.compress),
            mdn=cast(Literal["none", "sync", "async"], as2.mdn),
            mdn_signed=as2.mdn_signed,
            mdn_url=receipt_url if as2.mdn == "async" else "",
            must_be_signed=as2.must_be_signed,
            must_be_encrypted=as2.must_be_encrypted,
        ),
    )


@lru_cache(maxsize=256)
def _certificate(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


@lru_cache(maxsize=64)
def _identities(pem: str) -> tuple[Identity, ...]:
    return identities_from_pem(pem.encode())
