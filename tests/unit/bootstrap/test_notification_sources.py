"""Conditions that need files of the machine: expiring certificates, the disk, and backups."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postroad.adapters.journal.backup.status import STATUS_FILE, Success, note_success
from postroad.bootstrap.backup_age import describe_backups, find_old_backups
from postroad.bootstrap.notifications import (
    build_machine_sources,
    expiry_condition,
    find_low_disk,
    open_shared_status,
)
from postroad.bootstrap.secrets import open_operator_secrets
from postroad.bootstrap.settings import Settings, read_settings
from postroad.core.identity.expiry import DAY_US, Expiring
from postroad.core.model.directory import Credential, CredentialKind
from postroad.core.notifications.catalog import EVENT_NAMES
from postroad.errors import Misconfigured
from postroad.flow.notifications.sources import build_network_sources
from postroad.testing import Scenario
from postroad.testing.clocks import EPOCH_US

NOW_S = EPOCH_US / 1_000_000
HOUR_S = 3_600


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (31, None),
        (30, ("30", "warning")),
        (8, ("14", "warning")),
        (2, ("7", "warning")),
        (1, ("1", "error")),
        (0, ("0", "error")),
    ],
)
def test_what_expires_is_reported_in_stages(days: int, expected: tuple[str, str] | None) -> None:
    found = expiry_condition(Expiring("key 'main'", EPOCH_US + days * DAY_US, "Acme", is_credential=True), EPOCH_US)
    assert (None if found is None else (found.level, found.severity)) == expected
    assert found is None or (found.name, found.organization) == ("credential.expiring", "Acme")


def test_a_server_certificate_is_the_operators() -> None:
    found = expiry_condition(Expiring("the server's own certificate", EPOCH_US + 5 * DAY_US), EPOCH_US)
    assert found is not None
    assert (found.name, found.organization, found.detail) == ("certificate.expiring", "", "in 5 days")


def test_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    assert find_low_disk(Settings(data=tmp_path, least_free_bytes=1)) == []
    [found] = find_low_disk(Settings(data=tmp_path, least_free_bytes=1 << 60))
    assert found.name == "disk.low"


def test_old_backups_and_verifications(tmp_path: Path) -> None:
    def found(**hours: int) -> list[str]:
        ages = {what: {"at": NOW_S - age * HOUR_S, "entry": 7, "folder": "/backup"} for what, age in hours.items()}
        (tmp_path / STATUS_FILE).write_text(json.dumps(ages))
        return [one.name for one in find_old_backups(tmp_path, EPOCH_US)]

    assert find_old_backups(tmp_path, EPOCH_US) == []
    assert found(backup=25, verify=190) == []
    assert found(backup=27) == ["backup.old"]
    assert found(backup=1, verify=193) == ["verify.old"]
    assert found(backup=193) == ["backup.old", "verify.old"], "a status without the time of the first backup"
    (tmp_path / STATUS_FILE).write_text("damaged")
    assert find_old_backups(tmp_path, EPOCH_US) == []


def test_a_backup_that_was_never_verified_becomes_old(tmp_path: Path) -> None:
    for hours in (193, 100, 1):  # hourly or rarer: only the first one counts
        note_success(tmp_path, backup=Success(at=NOW_S - hours * HOUR_S, entry=7, folder="/backup"))
    [found] = find_old_backups(tmp_path, EPOCH_US)
    assert found.name == "verify.old"
    assert found.detail.startswith("none has succeeded since the first backup at 20")
    is_old, text = describe_backups(tmp_path, EPOCH_US)
    assert (is_old, "never verified; a backup is too old after" in text) == (True, True)
    note_success(tmp_path, verify=Success(at=NOW_S - HOUR_S, entry=7, folder="/backup"))
    assert find_old_backups(tmp_path, EPOCH_US) == []


def test_the_ages_of_backups_in_words(tmp_path: Path) -> None:
    def told(**seconds: int) -> tuple[bool, str]:
        ages = {what: {"at": NOW_S - age, "entry": 7, "folder": "/backup"} for what, age in seconds.items()}
        (tmp_path / STATUS_FILE).write_text(json.dumps(ages))
        return describe_backups(tmp_path, EPOCH_US)

    none = "no backup by `postroad backup` on this machine; another node or tool may make them"
    assert told() == (False, none)
    made = "last backup less than 2 minutes ago up to entry 7 in /backup"
    assert told(backup=119) == (False, f"{made}, never verified; run `postroad backup verify`")
    assert told(backup=0, verify=120) == (False, f"{made}, verified 2 minutes ago up to entry 7")
    is_old, text = told(backup=47 * HOUR_S, verify=48 * HOUR_S)
    limits = "a backup is too old after 26 hours, a verification after 8 days"
    made = "last backup 47 hours ago up to entry 7 in /backup"
    assert (is_old, text) == (True, f"{made}, verified 2 days ago up to entry 7; {limits}")


async def test_old_backups_of_a_shared_network_are_reported_by_any_node(tmp_path: Path, postgres_database: str) -> None:
    """The leader reports, and another node makes the backups."""
    settings = Settings(data=tmp_path, acceptance="shared", index="postgres", postgres=postgres_database)
    async with Scenario() as scenario, AsyncExitStack() as stack:
        shared = await open_shared_status(settings, stack)
        assert shared is not None
        sources = build_machine_sources(settings, scenario.network, open_operator_secrets(settings), shared)
        [backups] = [one for one in sources if "backup.old" in one.names]
        assert await backups.find() == []
        now_s = scenario.network.clock.now_us() / 1_000_000
        for hours in (200, 27):
            await shared.note(backup=Success(at=now_s - hours * HOUR_S, entry=7, folder="/backup"))
        assert [one.name for one in await backups.find()] == ["backup.old", "verify.old"]
        await shared.note(verify=Success(at=now_s, entry=7, folder="/backup"))
        assert [one.name for one in await backups.find()] == ["backup.old"]
        await shared.note(backup=Success(at=now_s, entry=8, folder="/backup"))
        assert await backups.find() == []
        noted = await shared.load()
        assert (noted.backup and noted.backup.entry, noted.first_backup_at) == (8, now_s - 200 * HOUR_S)


async def test_all_sources_of_a_network_work_and_name_events_of_the_catalog(tmp_path: Path) -> None:
    async with Scenario() as scenario:
        await scenario.service("Acme/Supply")
        ends_us = scenario.network.clock.now_us() + 3 * DAY_US
        gcid = scenario.profile("Acme/Supply").gcid
        await scenario.save(
            Credential(id="k1", kind=CredentialKind.KEY, secret="", service=gcid, label="main", expires_at_us=ends_us)
        )
        settings = Settings(data=tmp_path)
        machine = build_machine_sources(settings, scenario.network, open_operator_secrets(settings))
        sources = [*build_network_sources(scenario.network), *machine]
        for source in sources:
            found = await source.find()
            assert {one.name for one in found} <= source.names <= set(EVENT_NAMES)
            if "credential.expiring" in source.names:
                assert [(one.subject, one.level) for one in found] == [("key 'main' of Acme/Supply", "7")]
        assert len({name for source in sources for name in source.names}) == sum(len(one.names) for one in sources)


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"smtp_url": "smtp://hub:hidden@x"}, "smtp_from"),
        ({"smtp_url": "http://hub:hidden@x", "smtp_from": "a@b.example"}, "smtp_url"),
        ({"smtp_url": "smtp://hub:hidden@x", "smtp_from": "a@b.example\r\nBcc: c@d.example"}, "smtp_from"),
    ],
)
def test_wrong_mail_settings_are_refused_without_the_password(values: dict[str, str], fault: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        read_settings(environment={}, overrides=values)
    assert [one.partition(":")[0] for one in caught.value.faults] == [fault]
    assert "hidden" not in str(caught.value)
    assert Settings(smtp_url="smtp://hub:hidden@x").mask_secrets()["smtp_url"] == "***"
