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
from itertools import chain
from math import inf
from pathlib import Path

from postroad.bootstrap.settings import Settings
from postroad.core.configuration.certificates import certificates_expire_at_us, chain_expires_at_us
from postroad.core.identity.expiry import Expiring, Warnings, expiring_credentials
from postroad.core.model.directory import PushAuthentication, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured, Unavailable
from postroad.flow.network import Network
from postroad.flow.registries.named_secrets import STORED
from postroad.ports import Secrets

EVERY_S = 3_600.0
FILE_BYTES = 1 << 20
NEVER = inf  # the metric of a kind that has nothing which expires

log = logging.getLogger(__name__)


async def warn_of_expiry(network: Network, settings: Settings, secrets: Secrets) -> None:
    """Check once an hour until cancelled; an error is logged, and the next check is made in an hour."""
    warnings = Warnings()
    while True:
        try:
            await _check(network, settings, secrets, warnings)
        except Exception:
            log.exception("credential.check_failed: what expires could not be checked; trying again in an hour")
        await asyncio.sleep(EVERY_S)


async def _check(network: Network, settings: Settings, secrets: Secrets, warnings: Warnings) -> None:
    """Set the metrics, and log the warnings that have become due."""
    await prepare_all(network.directory, secrets)
    things = await asyncio.to_thread(lambda: list_expiring_by_kind(network.directory, settings, secrets))
    now_us = network.clock.now_us()
    for kind, expiring in things.items():
        network.metrics.gauge("certificate_expires_timestamp_seconds", kind).set(_soonest_s(expiring, now_us))
    for line in warnings.list_due(chain.from_iterable(things.values()), now_us):
        log.warning("credential.expires: %s", line)


def _soonest_s(expiring: Iterable[Expiring], now_us: int) -> float:
    """Return when the first thing expires, in Unix seconds; expired credentials do not count, since they may stay unused."""
    times = [one.expires_at_us for one in expiring if one.expires_at_us > now_us or not one.is_credential]
    return min(times) / 1_000_000 if times else NEVER


async def prepare_all(directory: Directory, secrets: Secrets) -> None:
    """Read the stored secrets that services refer to; those that cannot be read now are left out."""
    for service in directory.services.values():
        with suppress(Unavailable):
            await secrets.prepare(service)


def list_expiring(directory: Directory, settings: Settings, secrets: Secrets) -> Iterator[Expiring]:
    """Yield everything that expires."""
    for things in list_expiring_by_kind(directory, settings, secrets).values():
        yield from things


def list_expiring_by_kind(directory: Directory, settings: Settings, secrets: Secrets) -> dict[str, list[Expiring]]:
    """Return everything that expires, by its label in the metrics."""
    return {
        "credential": list(expiring_credentials(directory)),
        "server": list(list_server_certificate(settings)),
        "push": list(list_push_certificates(directory, secrets)),
        "as2": list(list_as2_certificates(directory, secrets)),
    }


def list_as2_certificates(directory: Directory, secrets: Secrets) -> Iterator[Expiring]:
    """Yield the certificates of AS2 partners, and those of our keys."""
    for service in directory.services.values():
        if service.as2 is None:
            continue
        what = f"the AS2 certificate of {service.as2.name!r} ({service.address})"
        yield from _last(what, service.as2.certificates, service.organization)
        if service.as2.secret_from:
            with suppress(Misconfigured):  # messages fail with this error, and report it
                own = secrets.secret(service, service.as2.secret_from)
                what = f"the network's AS2 certificate {service.as2.own_name!r} ({service.address})"
                yield from _last(what, (own,), service.organization)


def _last(what: str, pems: Iterable[str], organization: str) -> Iterator[Expiring]:
    ends = [end for pem in pems for end in certificates_expire_at_us(pem.encode())]
    if ends:
        yield Expiring(what, max(ends), organization)


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
    what = f"the certificate {reference} for pushes to {service.address}"
    try:
        if reference.startswith(STORED):
            expires_at_us = chain_expires_at_us(secrets.secret(service, reference).encode())
            if expires_at_us is not None:
                yield Expiring(what, expires_at_us, service.organization)
            return
        path = secrets.file(service, reference)
    except Misconfigured:  # pushes fail with this error, and report it
        return
    yield from _file(what, Path(path), service.organization)


def _file(what: str, path: Path, organization: str = "") -> Iterator[Expiring]:
    try:
        with path.open("rb") as file:
            expires_at_us = chain_expires_at_us(file.read(FILE_BYTES))
    except OSError:
        return
    if expires_at_us is not None:
        yield Expiring(what, expires_at_us, organization)
