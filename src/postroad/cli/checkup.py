"""What ``postroad doctor`` looks at: one function for each thing, each with one finding that says what to do."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from errno import EADDRINUSE
from pathlib import Path
from typing import Literal, NamedTuple

from postroad.bootstrap.settings import Settings
from postroad.cli.running import cannot_listen
from postroad.core.model.directory import DeliveryMode
from postroad.errors import PostroadError

CERTIFICATE_WARNING_DAYS = 30
TOLD_MOST = 5
EARLIEST_YEAR = 2026
MOVES_WITHIN_S = 5.0  # an index that lags moves on several times a second


class Finding(NamedTuple):
    what: str
    state: Literal["ok", "warning", "fault"]
    detail: str


def check_all(settings: Settings) -> list[Finding]:
    checks: list[Callable[[Settings], Finding]] = [
        python, sqlite, folder, disk, clock, certificate, port, store, expiring, secrets, as2, pushes,
    ]  # fmt: skip
    return [check(settings) for check in checks]


def python(settings: Settings) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok" if sys.version_info >= (3, 11) else "fault", f"{version} (3.11 or newer is needed)")


def sqlite(settings: Settings) -> Finding:
    import apsw

    from postroad.adapters.index.sqlite_file import refuse_old_sqlite

    version = apsw.sqlite_lib_version()
    try:
        refuse_old_sqlite(version)
    except PostroadError as error:
        return Finding("sqlite", "fault", str(error))
    return Finding("sqlite", "ok", version)


def folder(settings: Settings) -> Finding:
    existing = _existing(settings.data)
    try:
        probe = existing / f".postroad-doctor-{time.monotonic_ns()}"
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        return Finding("data folder", "fault", f"{existing} cannot be written to: {error.strerror}")
    return Finding("data folder", "ok", f"{settings.data}" + ("" if settings.data.exists() else " (will be made)"))


def disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(_existing(settings.data)).free
    words = f"{free >> 20} MiB free; posts are refused below {settings.least_free_bytes >> 20}"
    if free < settings.least_free_bytes:
        return Finding("disk", "fault", words + "; make room, or lower least_free_bytes")
    return Finding("disk", "warning" if free < 4 * settings.least_free_bytes else "ok", words)


def clock(settings: Settings) -> Finding:
    now = datetime.now(UTC)
    if now.year < EARLIEST_YEAR:
        return Finding("clock", "fault", f"{now.isoformat()} lies in the past; set the clock, expirations depend on it")
    return Finding("clock", "ok", now.isoformat(timespec="seconds"))


def certificate(settings: Settings) -> Finding:
    if not settings.tls_certificate:
        local = settings.host in ("127.0.0.1", "::1", "localhost")
        words = "no certificate, so connections are not encrypted"
        return Finding(
            "tls", "ok" if local else "warning", words + (" (only this machine can connect)" if local else "")
        )
    from cryptography.x509 import load_pem_x509_certificate

    try:
        pem = Path(settings.tls_certificate).read_bytes()
        days = (load_pem_x509_certificate(pem).not_valid_after_utc - datetime.now(UTC)).days
    except (OSError, ValueError) as error:
        return Finding("tls", "fault", f"{settings.tls_certificate} cannot be used: {error}")
    state: Literal["ok", "warning", "fault"] = (
        "fault" if days < 0 else "warning" if days < CERTIFICATE_WARNING_DAYS else "ok"
    )
    return Finding("tls", state, f"the certificate ends in {days} days" if days >= 0 else "the certificate has expired")


def port(settings: Settings) -> Finding:
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            if error.errno != EADDRINUSE:
                return Finding("port", "fault", str(cannot_listen(settings, error)))
            words = f"{settings.host}:{settings.port}: {error.strerror}; a server may be running there already"
            return Finding("port", "warning", words)
    return Finding("port", "ok", f"{settings.host}:{settings.port} is free")


def store(settings: Settings) -> Finding:
    """Whether journal and index can be read, how far apart they are, and whether the index is damaged."""
    if settings.index == "memory":
        return Finding("store", "warning", "in memory: everything is lost when the server stops")
    if settings.acceptance == "local" and not (settings.data / "journal").is_dir():
        return Finding("store", "ok", f"no network in {settings.data} yet")
    try:
        journal, index = asyncio.run(_heads(settings))
        asyncio.run(_check_index(settings))
        if index < journal and _is_stuck(settings, index):
            words = f"the server's index process stands still at entry {index} of {journal}; restart the server"
            return Finding("store", "fault", words)
    except (PostroadError, OSError) as error:
        return Finding("store", "fault", str(error))
    state: Literal["ok", "fault"] = "ok" if index <= journal else "fault"
    return Finding("store", state, f"journal at entry {journal}, index at {index}")


def expiring(settings: Settings) -> Finding:
    """Certificates and keys, of services, people, AS2 agreements and for pushes, that end soon."""
    from postroad.bootstrap.expiry import as2_certificates, push_certificates
    from postroad.bootstrap.pushing import operators_secrets
    from postroad.cli.stores import stored_directory
    from postroad.core.identity.expiry import due_warning, expiring_credentials, told

    if settings.index == "memory":
        return Finding("credentials", "ok", "in memory: there are none before it starts")
    try:
        directory = asyncio.run(stored_directory(settings))
    except (PostroadError, OSError) as error:
        return Finding("credentials", "fault", str(error))
    now_us = time.time_ns() // 1_000
    secrets = operators_secrets(settings)
    things = [
        *expiring_credentials(directory),
        *push_certificates(directory, secrets),
        *as2_certificates(directory, secrets),
    ]
    due = sorted(
        (thing for thing in things if due_warning(thing.expires_at_us, now_us) is not None), key=lambda one: one[1]
    )
    if due:
        more = f" (and {len(due) - TOLD_MOST} more)" if len(due) > TOLD_MOST else ""
        return Finding("credentials", "warning", "; ".join(told(one, now_us) for one in due[:TOLD_MOST]) + more)
    return Finding(
        "credentials", "ok", f"none of {len(things)} with an end ends within {CERTIFICATE_WARNING_DAYS} days"
    )


def secrets(settings: Settings) -> Finding:
    """Whether this node can read every secret that a push service or an AS2 identity names.

    A variable is a warning only: the server's environment may have it although this command's has not.
    """
    from postroad.bootstrap.pushing import SECRETS_FOLDER, operators_secrets
    from postroad.cli.stores import stored_directory
    from postroad.flow.named_secrets import unreadable_secrets

    if settings.index == "memory":
        return Finding("secrets", "ok", "in memory: no service names one before it starts")
    try:
        directory = asyncio.run(stored_directory(settings))
    except (PostroadError, OSError) as error:
        return Finding("secrets", "fault", str(error))
    named, faults = unreadable_secrets(directory, operators_secrets(settings))
    if faults:
        more = f" (and {len(faults) - TOLD_MOST} more)" if len(faults) > TOLD_MOST else ""
        where = f"; this node reads {settings.data / SECRETS_FOLDER} and the server's environment"
        state: Literal["warning", "fault"] = "fault" if any(": file:" in fault for fault in faults) else "warning"
        return Finding("secrets", state, "; ".join(faults[:TOLD_MOST]) + more + where)
    return Finding("secrets", "ok", f"this node can read all that services name ({named})")


def as2(settings: Settings) -> Finding:
    """Whether our key is at hand for every AS2 partner."""
    from postroad.bootstrap.pushing import operators_secrets
    from postroad.cli.stores import stored_directory
    from postroad.flow.as2_partners import Partners

    if settings.index == "memory":
        return Finding("as2", "ok", "in memory: there are no partners before it starts")
    try:
        directory = asyncio.run(stored_directory(settings))
    except (PostroadError, OSError) as error:
        return Finding("as2", "fault", str(error))
    partners = Partners(operators_secrets(settings), lambda service: "")
    found = [service for service in directory.services.values() if service.as2 is not None]
    faults = [f"{service.address}: {fault}" for service in found if (fault := partners.fault_of(service))]
    if faults:
        return Finding("as2", "warning", "; ".join(faults[:TOLD_MOST]))
    return Finding(
        "as2", "ok", f"our key is at hand for all partners ({len(found)})" if found else "there are no partners"
    )


def pushes(settings: Settings) -> Finding:
    """Whether every service that is pushed to can be reached by its URL."""
    from postroad.bootstrap.pushing import unreachable_services
    from postroad.cli.stores import stored_directory

    if settings.index == "memory":
        return Finding("pushes", "ok", "in memory: there are none before it starts")
    try:
        directory = asyncio.run(stored_directory(settings))
    except (PostroadError, OSError) as error:
        return Finding("pushes", "fault", str(error))
    pushed = [one for one in directory.services.values() if one.delivery is DeliveryMode.PUSH]
    faults = [f"{service.address}: {told}" for service, told in asyncio.run(unreachable_services(settings, pushed))]
    if faults:
        more = f" (and {len(faults) - TOLD_MOST} more)" if len(faults) > TOLD_MOST else ""
        return Finding("pushes", "warning", "; ".join(faults[:TOLD_MOST]) + more)
    return Finding("pushes", "ok", f"{len(pushed)} {'service is' if len(pushed) == 1 else 'services are'} pushed to")


async def _heads(settings: Settings) -> tuple[int, int]:
    from postroad.cli.stores import index_position, journal_head, reading_journal

    position = await index_position(settings)
    async with reading_journal(settings) as journal:
        return (await journal_head(journal)).seq, position.seq if position else 0


def _is_stuck(settings: Settings, index: int) -> bool:
    """Whether a server runs here and its index has not moved for some seconds. A stopped server catches up when it starts."""
    from postroad.cli.stores import is_served

    if settings.index != "sqlite" or not is_served(settings):
        return False
    deadline = time.monotonic() + MOVES_WITHIN_S
    while asyncio.run(_heads(settings))[1] <= index:
        if time.monotonic() > deadline:
            return True
        time.sleep(0.2)
    return False


async def _check_index(settings: Settings) -> None:
    from postroad.adapters.index.comparison import check_quickly
    from postroad.bootstrap.running import INDEX_FILE
    from postroad.cli.stores import reading_journal

    if settings.index == "sqlite" and (settings.data / INDEX_FILE).exists():
        async with reading_journal(settings) as journal:
            await check_quickly(journal, settings.data / INDEX_FILE)


def _existing(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
