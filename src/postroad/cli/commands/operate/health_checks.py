"""The checks of ``postroad doctor``: one function per check, each with a finding and what to do about it."""

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
from postroad.cli.framework.server_process import describe_listen_error
from postroad.core.model.directory import DeliveryMode
from postroad.errors import PostroadError

CERTIFICATE_WARNING_DAYS = 30
MAX_LISTED = 5
EARLIEST_YEAR = 2026
MOVES_WITHIN_S = 5.0  # an index that lags moves on several times a second


class HealthFinding(NamedTuple):
    what: str
    state: Literal["ok", "warning", "fault"]
    detail: str


def check_all(settings: Settings) -> list[HealthFinding]:
    checks: list[Callable[[Settings], HealthFinding]] = [
        check_python, check_sqlite, check_folder, check_disk, check_clock, check_certificate, check_port, check_store,
        check_backup, check_expiry, check_secrets, check_as2, check_pushes,
    ]  # fmt: skip
    return [check(settings) for check in checks]


def check_python(settings: Settings) -> HealthFinding:
    version = ".".join(map(str, sys.version_info[:3]))
    return HealthFinding(
        "python", "ok" if sys.version_info >= (3, 11) else "fault", f"{version} (3.11 or newer is needed)"
    )


def check_sqlite(settings: Settings) -> HealthFinding:
    import apsw

    from postroad.adapters.index.sqlite_file import refuse_old_sqlite

    version = apsw.sqlite_lib_version()
    try:
        refuse_old_sqlite(version)
    except PostroadError as error:
        return HealthFinding("sqlite", "fault", str(error))
    return HealthFinding("sqlite", "ok", version)


def check_folder(settings: Settings) -> HealthFinding:
    existing = _existing(settings.data)
    try:
        probe = existing / f".postroad-doctor-{time.monotonic_ns()}"
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        return HealthFinding("data folder", "fault", f"{existing} cannot be written to: {error.strerror}")
    return HealthFinding(
        "data folder", "ok", f"{settings.data}" + ("" if settings.data.exists() else " (will be created)")
    )


def check_disk(settings: Settings) -> HealthFinding:
    free = shutil.disk_usage(_existing(settings.data)).free
    words = f"{free >> 20} MiB free; posts are refused below {settings.least_free_bytes >> 20}"
    if free < settings.least_free_bytes:
        return HealthFinding("disk", "fault", words + "; free disk space, or lower least_free_bytes")
    return HealthFinding("disk", "warning" if free < 4 * settings.least_free_bytes else "ok", words)


def check_clock(settings: Settings) -> HealthFinding:
    now = datetime.now(UTC)
    if now.year < EARLIEST_YEAR:
        return HealthFinding(
            "clock", "fault", f"{now.isoformat()} is in the past; set the clock, since expirations depend on it"
        )
    return HealthFinding("clock", "ok", now.isoformat(timespec="seconds"))


def check_certificate(settings: Settings) -> HealthFinding:
    if not settings.tls_certificate:
        local = settings.host in ("127.0.0.1", "::1", "localhost")
        words = "no certificate, so connections are not encrypted"
        return HealthFinding(
            "tls", "ok" if local else "warning", words + (" (only this machine can connect)" if local else "")
        )
    from cryptography.x509 import load_pem_x509_certificate

    try:
        pem = Path(settings.tls_certificate).read_bytes()
        days = (load_pem_x509_certificate(pem).not_valid_after_utc - datetime.now(UTC)).days
    except (OSError, ValueError) as error:
        return HealthFinding("tls", "fault", f"{settings.tls_certificate} cannot be used: {error}")
    state: Literal["ok", "warning", "fault"] = (
        "fault" if days < 0 else "warning" if days < CERTIFICATE_WARNING_DAYS else "ok"
    )
    return HealthFinding(
        "tls", state, f"the certificate ends in {days} days" if days >= 0 else "the certificate has expired"
    )


def check_port(settings: Settings) -> HealthFinding:
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            if error.errno != EADDRINUSE:
                return HealthFinding("port", "fault", str(describe_listen_error(settings, error)))
            words = f"{settings.host}:{settings.port}: {error.strerror}; a server may be running there already"
            return HealthFinding("port", "warning", words)
    return HealthFinding("port", "ok", f"{settings.host}:{settings.port} is free")


def check_store(settings: Settings) -> HealthFinding:
    """Check that journal and index can be read, how far apart they are, and whether the index is damaged."""
    if settings.index == "memory":
        return HealthFinding("store", "warning", "in memory: everything is lost when the server stops")
    if settings.acceptance == "local" and not (settings.data / "journal").is_dir():
        return HealthFinding("store", "ok", f"no network in {settings.data} yet")
    try:
        journal, index = asyncio.run(_heads(settings))
        asyncio.run(_check_index(settings))
        if index < journal and _is_stuck(settings, index):
            words = f"the server's index process is stuck at entry {index} of {journal}; restart the server"
            return HealthFinding("store", "fault", words)
    except (PostroadError, OSError) as error:
        return HealthFinding("store", "fault", str(error))
    state: Literal["ok", "fault"] = "ok" if index <= journal else "fault"
    return HealthFinding("store", state, f"journal at entry {journal}, index at {index}")


def check_backup(settings: Settings) -> HealthFinding:
    """Check how old the last backup and its last verification are."""
    from postroad.bootstrap.backup_age import describe_backups

    if settings.index == "memory":
        return HealthFinding("backup", "ok", "in memory: there is nothing to back up")
    if settings.acceptance == "local" and not (settings.data / "journal").is_dir():
        return HealthFinding("backup", "ok", f"no network in {settings.data} yet")
    found = describe_backups(settings.data, time.time_ns() // 1_000)
    return HealthFinding("backup", "warning" if found.is_old else "ok", found.text)


def check_expiry(settings: Settings) -> HealthFinding:
    """Check for certificates and keys of services, people, AS2 partnerships and pushes that expire soon."""
    from postroad.bootstrap.expiry_warnings import list_as2_certificates, list_push_certificates, prepare_all
    from postroad.bootstrap.secrets import read_secrets
    from postroad.cli.framework.stores import load_directory
    from postroad.core.identity.expiry import Expiring, due_warning, expiring_credentials, expiry_text

    if settings.index == "memory":
        return HealthFinding("credentials", "ok", "in memory: none before it starts")

    async def list_things() -> list[Expiring]:
        directory = await load_directory(settings)
        async with read_secrets(settings, directory) as secrets:
            await prepare_all(directory, secrets)
            return [
                *expiring_credentials(directory),
                *list_push_certificates(directory, secrets),
                *list_as2_certificates(directory, secrets),
            ]

    try:
        things = asyncio.run(list_things())
    except (PostroadError, OSError) as error:
        return HealthFinding("credentials", "fault", str(error))
    now_us = time.time_ns() // 1_000
    due = sorted(
        (thing for thing in things if due_warning(thing.expires_at_us, now_us) is not None), key=lambda one: one[1]
    )
    if due:
        more = f" (and {len(due) - MAX_LISTED} more)" if len(due) > MAX_LISTED else ""
        return HealthFinding(
            "credentials", "warning", "; ".join(expiry_text(one, now_us) for one in due[:MAX_LISTED]) + more
        )
    return HealthFinding("credentials", "ok", f"none of {len(things)} expires within {CERTIFICATE_WARNING_DAYS} days")


def check_secrets(settings: Settings) -> HealthFinding:
    """Check that this node can read every secret that a push service or an AS2 identity names.

    A variable is a warning only: the server's environment may have it although this command's has not.
    """
    from postroad.bootstrap.secrets import SECRETS_FOLDER, read_secrets
    from postroad.cli.framework.stores import load_directory
    from postroad.flow.registries.named_secrets import find_unreadable_secrets

    if settings.index == "memory":
        return HealthFinding("secrets", "ok", "in memory: no service needs one before it starts")

    async def find_unreadable() -> tuple[int, list[str]]:
        directory = await load_directory(settings)
        async with read_secrets(settings, directory) as secrets:
            return await find_unreadable_secrets(directory, secrets)

    try:
        named, faults = asyncio.run(find_unreadable())
    except (PostroadError, OSError) as error:
        return HealthFinding("secrets", "fault", str(error))
    if faults:
        more = f" (and {len(faults) - MAX_LISTED} more)" if len(faults) > MAX_LISTED else ""
        where = f"; this node reads {settings.data / SECRETS_FOLDER} and the server's environment"
        state: Literal["warning", "fault"] = "fault" if any(": env:" not in fault for fault in faults) else "warning"
        return HealthFinding("secrets", state, "; ".join(faults[:MAX_LISTED]) + more + where)
    return HealthFinding("secrets", "ok", f"this node can read all secrets of services ({named})")


def check_as2(settings: Settings) -> HealthFinding:
    """Check that our private key is available for every AS2 partner."""
    from postroad.bootstrap.secrets import read_secrets
    from postroad.cli.framework.stores import load_directory
    from postroad.flow.registries.as2_partners import As2Partners

    if settings.index == "memory":
        return HealthFinding("as2", "ok", "in memory: no partners before it starts")

    async def find_faults() -> tuple[int, list[str]]:
        directory = await load_directory(settings)
        found = [service for service in directory.services.values() if service.as2 is not None]
        async with read_secrets(settings, directory) as secrets:
            partners = As2Partners(secrets, lambda service: "")
            told = [(service.address, await partners.find_fault(service)) for service in found]
        return len(found), [f"{address}: {fault}" for address, fault in told if fault]

    try:
        found, faults = asyncio.run(find_faults())
    except (PostroadError, OSError) as error:
        return HealthFinding("as2", "fault", str(error))
    if faults:
        return HealthFinding("as2", "warning", "; ".join(faults[:MAX_LISTED]))
    return HealthFinding(
        "as2",
        "ok",
        f"the network's key is available for all partners ({found})" if found else "there are no partners",
    )


def check_pushes(settings: Settings) -> HealthFinding:
    """Check that every push service can be reached at its URL."""
    from postroad.bootstrap.pushes import find_unreachable_services
    from postroad.bootstrap.secrets import read_secrets
    from postroad.cli.framework.stores import load_directory

    if settings.index == "memory":
        return HealthFinding("pushes", "ok", "in memory: none before it starts")

    async def find_unreachable() -> tuple[int, list[str]]:
        directory = await load_directory(settings)
        pushed = [one for one in directory.services.values() if one.delivery is DeliveryMode.PUSH]
        async with read_secrets(settings, directory) as secrets:
            found = await find_unreachable_services(settings, secrets, pushed)
        return len(pushed), [f"{service.address}: {told}" for service, told in found]

    try:
        pushed, faults = asyncio.run(find_unreachable())
    except (PostroadError, OSError) as error:
        return HealthFinding("pushes", "fault", str(error))
    if faults:
        more = f" (and {len(faults) - MAX_LISTED} more)" if len(faults) > MAX_LISTED else ""
        return HealthFinding("pushes", "warning", "; ".join(faults[:MAX_LISTED]) + more)
    return HealthFinding("pushes", "ok", f"{pushed} {'service is' if pushed == 1 else 'services are'} pushed to")


async def _heads(settings: Settings) -> tuple[int, int]:
    from postroad.cli.framework.stores import open_journal, read_index_position, read_journal_head

    position = await read_index_position(settings)
    async with open_journal(settings) as journal:
        return (await read_journal_head(journal)).seq, position.seq if position else 0


def _is_stuck(settings: Settings, index: int) -> bool:
    """Return True if a server runs here but its index has not moved for some seconds.

    A stopped server catches up when it starts.
    """
    from postroad.cli.framework.stores import is_served

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
    from postroad.bootstrap.stores import INDEX_FILE
    from postroad.cli.framework.stores import open_journal

    if settings.index == "sqlite" and (settings.data / INDEX_FILE).exists():
        async with open_journal(settings) as journal:
            await check_quickly(journal, settings.data / INDEX_FILE)


def _existing(path: Path) -> Path:
    """Return the folder itself, or the nearest parent that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
