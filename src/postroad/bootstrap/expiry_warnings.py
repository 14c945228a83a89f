"""Log warnings before certificates and keys expire: 30, 14, 7 and 1 days ahead, and afterwards.

It checks the credentials of services and people, the server's own certificate, the client certificates used in
pushes, and both sides' certificates of AS2 partnerships; during a rollover, the certificate that lasts longest
counts. A node logs each warning once; after a restart, it logs only the warning that is due then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from postroad.bootstrap.settings import Settings
from postroad.core.configuration.certificates import certificates_expire_at_us, chain_expires_at_us
from postroad.core.identity.expiry import Expiring, Warnings, expiring_credentials
from postroad.core.model.directory import PushAuthentication, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.flow.network import Network
from postroad.ports import Secrets

EVERY_S = 3_600.0
FILE_BYTES = 1 << 20

log = logging.getLogger(__name__)


async def warn_of_expiry(network: Network, settings: Settings, secrets: Secrets) -> None:
    """Check once an hour until cancelled."""
    warnings = Warnings()
    while True:
        things = await asyncio.to_thread(lambda: list(list_expiring(network.directory, settings, secrets)))
        for line in warnings.due(things, network.clock.now_us()):
            log.warning("credential.expires: %s", line)
        await asyncio.sleep(EVERY_S)


def list_expiring(directory: Directory, settings: Settings, secrets: Secrets) -> Iterator[Expiring]:
    yield from expiring_credentials(directory)
    yield from list_server_certificate(settings)
    yield from list_push_certificates(directory, secrets)
    yield from list_as2_certificates(directory, secrets)


def list_as2_certificates(directory: Directory, secrets: Secrets) -> Iterator[Expiring]:
    """Yield the certificates of AS2 partners, and those of our keys."""
    for service in directory.services.values():
        if service.as2 is None:
            continue
        yield from _last(f"the AS2 certificate of {service.as2.name!r} ({service.address})", service.as2.certificates)
        if service.as2.secret_from:
            with suppress(Misconfigured):  # messages fail with this error, and report it
                own = secrets.secret(service, service.as2.secret_from)
                yield from _last(f"the network's AS2 certificate {service.as2.own_name!r} ({service.address})", (own,))


def _last(what: str, pems: Iterable[str]) -> Iterator[Expiring]:
    ends = [end for pem in pems for end in certificates_expire_at_us(pem.encode())]
    if ends:
        yield Expiring(what, max(ends))


def list_server_certificate(settings: Settings) -> Iterator[Expiring]:
    if settings.tls_certificate:
        yield from _file("the server's own certificate", Path(settings.tls_certificate))


def list_push_certificates(directory: Directory, secrets: Secrets) -> Iterator[Expiring]:
    """Yield the client certificates that the network uses for pushes."""
    for service in directory.services.values():
        for place in service.push.places if service.push is not None else ():
            if place.authentication is PushAuthentication.CERTIFICATE:
                yield from _push_certificate(service, place.secret_from, secrets)


def _push_certificate(service: Service, reference: str, secrets: Secrets) -> Iterator[Expiring]:
    try:
        path = secrets.file(service, reference)
    except Misconfigured:  # pushes fail with this error, and report it
        return
    yield from _file(f"the certificate {reference} for pushes to {service.address}", Path(path))


def _file(what: str, path: Path) -> Iterator[Expiring]:
    try:
        with path.open("rb") as file:
            expires_at_us = chain_expires_at_us(file.read(FILE_BYTES))
    except OSError:
        return
    if expires_at_us is not None:
        yield Expiring(what, expires_at_us)
