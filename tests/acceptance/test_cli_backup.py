"""`postroad backup` and `postroad restore` as an operator uses them: beside a running server, with and without a master key."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, ignore_patterns
from subprocess import PIPE
from typing import Any

import pytest

from postroad.adapters.index.sqlite_file import open_writer
from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.shared_status import SharedBackupStatus
from postroad.adapters.journal.backup.status import STATUS_FILE, BackupStatus, read_status
from postroad.core.model.level import NEWEST
from tests.preloaded import PROGRAM, Preloaded
from tests.samples.served_network import Served, clean_environment, json_lines, postroad, served, succeeded
from tests.waiting import eventually

WAIT_S = 60.0
BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"
MASTER_KEY = "5e" * 32
SECRET = "whsec_c2VjcmV0IG9mIEFjbWU"
PRIVATE = "0o600"
DIGEST = re.compile(r"\.[0-9a-f]{16}$")


@contextmanager
def small_network(folder: Path) -> Iterator[Served]:
    """A running network with a few messages, and a push secret in a file."""
    with served(folder / "data") as network:
        network.register(BUYER, SELLER)
        hook = network.data / "push-secrets/Acme/hook"
        hook.parent.mkdir(parents=True)
        hook.write_text(SECRET)
        with network.client(BUYER) as buyer:
            for number in range(3):
                buyer.post(to=SELLER, document=f"order {number}")
        yield network


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Served]:
    """A network for one test, which may stop it."""
    with small_network(tmp_path) as network:
        yield network


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A network that several tests back up, and none changes."""
    with small_network(tmp_path_factory.mktemp("running")) as network:
        yield network


def back_up(network: Served, folder: Path, *words: str | Path) -> dict[str, Any]:
    [found] = json_lines(succeeded("backup", folder, "--data", network.data, "--json", *words))
    result: dict[str, Any] = found
    return result


def doctors_backup(data: Path) -> list[str]:
    """Return state and detail of what `postroad doctor` finds about backups."""
    done = postroad("doctor", "--data", data, "--json")
    [found] = [one for one in json.loads(done.stdout) if one["what"] == "backup"]
    return [found["state"], found["detail"]]


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of files with secrets, without the digests that backups add to their names."""
    return {
        DIGEST.sub("", str(path.relative_to(folder))): oct(path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".seg", ".lock") and path.name not in ("durable", "backup.json")
    }


@pytest.mark.req("O6")
def test_back_up_verify_and_restore_beside_the_running_server(network: Served, tmp_path: Path) -> None:
    folder, restored = tmp_path / "backup", tmp_path / "restored"
    first = back_up(network, folder)
    assert first["entries"] == first["new_entries"]
    with network.client(BUYER) as buyer, network.client(SELLER) as seller:
        leased = seller.poll(1, wait_s=10)[0]
        buyer.post(to=SELLER, document="order 3")
        second = back_up(network, folder)
        assert second["new_entries"] == second["entries"] - first["entries"] > 0
        buyer.post(to=SELLER, document="after the backup")
        told = succeeded("backup", "verify", folder, "--restore", "--data", network.data)
        assert f"{second['entries']} entries, complete and unchanged\nhead {second['head']}" in told
        assert "4 deliveries wait" in told
        assert "not compared" not in told
    assert json.loads((folder / "backup.json").read_text())["level"] == NEWEST
    made = f"less than 2 minutes ago up to entry {second['entries']}"
    assert doctors_backup(network.data) == ["ok", f"last backup {made} in {folder}, verified {made}"]
    status = json.loads((network.data / "backup-status.json").read_text())
    assert status["backup"]["entry"] == status["verify"]["entry"] == second["entries"]
    assert status["backup"]["folder"] == str(folder)
    readings = network.metrics()
    assert readings.value("postroad_backup_entry") == second["entries"]
    assert readings.value("postroad_backup_last_success_timestamp_seconds") == pytest.approx(status["backup"]["at"])
    assert readings.value("postroad_verify_last_success_timestamp_seconds") == pytest.approx(status["verify"]["at"])
    network.end()

    told = succeeded("restore", folder, "--to", restored, "--reason", "a lost disk")
    assert f"restored entries 1 to {second['entries']} of {second['entries']} into {restored}" in told
    with served(restored) as again:
        with again.client(SELLER) as seller:
            assert seller.acknowledge(leased).settled[0].code == "", "tokens from before the backup stay valid"
            found = seller.poll(10, wait_s=10)
            assert [message.possible_duplicate for message in found] == [True] * 3
        entries = json_lines(succeeded("head", "--data", restored, "--json"))[0]["entries"]
        assert entries > second["entries"]
    assert (restored / "push-secrets/Acme/hook").read_text() == SECRET


@pytest.mark.req("O6")
def test_without_a_master_key_secrets_are_private_files_and_a_warning_says_so(running: Served, tmp_path: Path) -> None:
    done = postroad("backup", tmp_path / "backup", "--data", running.data)
    assert done.returncode == 0, done.stderr
    assert "contains 3 secret files that are not sealed, because no master key is set (master_key_file)" in done.stderr
    wanted = dict.fromkeys(("operator.key", "push-secrets/Acme/hook", "token.secret"), PRIVATE)
    assert modes(tmp_path / "backup") == wanted
    assert back_up(running, tmp_path / "backup", "--secrets", "none")["secrets"] == "none"
    assert modes(tmp_path / "backup") == {}
    refused = postroad("backup", tmp_path / "backup", "--secrets", "sealed", "--data", running.data)
    assert (refused.returncode, "set master_key_file" in refused.stderr) == (1, True)


@pytest.mark.req("O6", "O9")
def test_with_a_master_key_secrets_are_sealed(running: Served, tmp_path: Path) -> None:
    key, folder = tmp_path / "master.key", tmp_path / "backup"
    key.write_text(MASTER_KEY)
    back_up(running, folder)  # before there was a key
    with_key = ("--set", f"master_key_file={key}")
    assert back_up(running, folder, *with_key)["secrets"] == "sealed"
    assert modes(folder) == {"backup.secrets": PRIVATE}
    contents = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for name in ("token.secret", "operator.key", "push-secrets/Acme/hook"):
        assert (running.data / name).read_bytes().strip() not in contents
    without = postroad("restore", folder, "--to", tmp_path / "one")
    assert (without.returncode, "are sealed; set master_key_file" in without.stderr) == (1, True)
    wrong = postroad("restore", folder, "--to", tmp_path / "one", "--set", f"master_key={'6f' * 32}")
    assert (wrong.returncode, "It was sealed with the key" in wrong.stderr) == (1, True)
    assert not (tmp_path / "one").exists()
    succeeded("restore", folder, "--to", tmp_path / "one", *with_key)
    assert (tmp_path / "one/token.secret").read_text() == (running.data / "token.secret").read_text()
    assert modes(tmp_path / "one")["push-secrets/Acme/hook"] == PRIVATE
    told = succeeded("restore", folder, "--to", tmp_path / "two", "--no-secrets", "--json")
    assert json.loads(told)["secrets"] is False
    assert not (tmp_path / "two/token.secret").exists()


@pytest.mark.req("O6")
def test_restore_to_an_entry_or_a_time(running: Served, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    entries = back_up(running, folder)["entries"]
    assert isinstance(entries, int)
    for number, until in enumerate(("2", "0s")):
        [told] = json_lines(succeeded("restore", folder, "--to", tmp_path / str(number), "--until", until, "--json"))
        assert told["entries"] == (2 if until == "2" else entries)
        assert f"{told['entries'] + 1} entries, complete" in succeeded(
            "verify", "--data", tmp_path / str(number), "--head", told["head"]
        )
    for until, why in (("99999", "is outside"), ("2020-01-01T00:00:00Z", "is outside"), ("soon", "is not a time")):
        done = postroad("restore", folder, "--to", tmp_path / "none", "--until", until)
        assert (done.returncode > 0, why in done.stderr) == (True, True), done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.req("O6")
def test_a_backup_of_a_later_network_level_is_not_restored(running: Served, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    back_up(running, folder)
    manifest = json.loads((folder / "backup.json").read_text())
    (folder / "backup.json").write_text(json.dumps(manifest | {"level": NEWEST + 1}))
    done = postroad("restore", folder, "--to", tmp_path / "none")
    assert (done.returncode, f"at level {NEWEST + 1}, which needs a later version" in done.stderr) == (1, True)
    assert not (tmp_path / "none").exists()


@pytest.mark.req("O6")
def test_restore_overwrites_nothing(running: Served, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    back_up(running, folder)
    before = {path: path.read_bytes() for path in running.data.rglob("*.secret")}
    done = postroad("restore", folder, "--to", running.data)
    assert done.returncode == 1
    assert "is not empty (it contains " in done.stderr
    assert before == {path: path.read_bytes() for path in running.data.rglob("*.secret")}
    settings = tmp_path / "fresh/postroad.toml"
    settings.parent.mkdir()
    settings.write_text("port = 9999\n")
    succeeded("restore", folder, "--to", settings.parent)
    unfinished = tmp_path / "unfinished"
    (unfinished / "journal.part").mkdir(parents=True)
    (unfinished / "token.secret").write_text("half")
    succeeded("restore", folder, "--to", unfinished)
    assert (unfinished / "token.secret").read_text() == (running.data / "token.secret").read_text()


async def load_shared_status(dsn: str) -> BackupStatus:
    status = await SharedBackupStatus.open(dsn)
    try:
        return await status.load()
    finally:
        await status.close()


@pytest.mark.req("O6")
def test_a_network_moves_to_postgresql_and_back(network: Served, tmp_path: Path, postgres_database: str) -> None:
    """After a stop nothing is lost, so the head stays the same from store to store, and nothing is marked."""
    folder, shared = tmp_path / "backup", tmp_path / "shared"
    network.end()
    head = back_up(network, folder)["head"]
    [told] = json_lines(
        succeeded("restore", folder, "--to-postgres", postgres_database, "--to", shared, "--nothing-lost", "--json")
    )
    assert (told["head"], told["secrets"]) == (head, True)
    secret = (shared / "token.secret").read_text().strip()
    shared_store = ("acceptance=shared", "index=postgres", f"postgres={postgres_database}", f"secret={secret}")
    store = [word for setting in shared_store for word in ("--set", setting)]
    with served(shared, *store) as again, again.client(SELLER) as seller:
        found = seller.poll(10, wait_s=10)
        assert [message.possible_duplicate for message in found] == [False] * 3
        seller.acknowledge(*found[:2])
    second = back_up(Served(data=shared), tmp_path / "second", *store)
    told = succeeded("backup", "verify", tmp_path / "second", "--restore", "--data", shared, *store)
    noted = asyncio.run(load_shared_status(postgres_database))
    assert noted.backup is not None
    assert noted.verify is not None
    assert (noted.backup.entry, noted.verify.entry) == (second["entries"], second["entries"])
    assert f"{second['entries']} entries, complete and unchanged" in told
    succeeded("restore", tmp_path / "second", "--to", tmp_path / "local", "--nothing-lost")
    assert (tmp_path / "local/token.secret").read_text() == secret
    with served(tmp_path / "local") as local, local.client(SELLER) as seller:
        assert len(seller.poll(10, wait_s=10)) == 1
    refused = postroad("restore", folder, "--to-postgres", postgres_database)
    assert (refused.returncode, "already has a journal with" in refused.stderr) == (1, True)


@pytest.mark.req("O6")
def test_verify_compares_as_much_as_it_can_with_the_running_index(network: Served, tmp_path: Path) -> None:
    verify = ("backup", "verify", tmp_path / "backup", "--restore", "--data", network.data)
    early = back_up(network, tmp_path / "backup")["entries"]
    with network.client(BUYER) as buyer:
        buyer.post(to=SELLER, document="later")
    with network.client(SELLER) as seller:
        seller.acknowledge(*seller.poll(4, wait_s=10))
    network.end()
    assert f"compared with the index of the network: the rows of 10 tables up to entry {early}" in succeeded(*verify)
    late = back_up(network, tmp_path / "backup")["entries"]
    assert f"compared with the index of the network: all tables at entry {late}" in succeeded(*verify)
    writer = open_writer(network.data / "index.sqlite")
    writer.execute("UPDATE delivery SET attempts = attempts + 1 WHERE number = (SELECT max(number) FROM delivery)")
    writer.close()
    done = postroad(*verify)
    assert (
        done.returncode,
        "index: table delivery has 4 rows and should have 4; the first difference" in done.stdout,
    ) == (
        1,
        True,
    ), done.stdout


@pytest.mark.req("O6")
def test_a_follower_continues_where_its_success_cannot_be_noted(network: Served, tmp_path: Path) -> None:
    """The data disk may be full while that of the backup is not; a folder in the place of the file has the same effect."""
    folder, status = tmp_path / "backup", network.data / STATUS_FILE
    status.mkdir()
    done = postroad("backup", folder, "--data", network.data)
    assert (done.returncode, "show an earlier backup" in done.stderr) == (0, True), done.stderr
    done = postroad("backup", "verify", folder, "--data", network.data)
    assert (done.returncode, "show an earlier verification" in done.stderr) == (0, True), done.stderr
    command = [*PROGRAM, "backup", "follow", str(folder), "--data", str(network.data)]
    follower = Preloaded(command, env=clean_environment(), stdout=PIPE, stderr=PIPE, text=True)
    try:
        for number in range(2):
            before = BackupContents(folder).manifest.entries
            with network.client(BUYER) as buyer:
                buyer.post(to=SELLER, document=f"followed {number}")
            eventually(lambda: BackupContents(folder).manifest.entries > before, WAIT_S)  # noqa: B023 - called at once
        assert follower.poll() is None
        status.rmdir()
        eventually(lambda: read_status(network.data).backup is not None, WAIT_S)
    finally:
        follower.kill()
        _, errors = follower.communicate()
    assert errors.count("backup.not_noted") == 1, errors


def test_what_is_no_network_or_no_backup_is_named(tmp_path: Path) -> None:
    for words, why in (
        (("backup", tmp_path / "backup", "--data", tmp_path / "none"), "there is no journal in"),
        (("backup", "verify", tmp_path), "has no backup.json, so it is not a complete backup"),
        (("restore", tmp_path, "--to", tmp_path / "data"), "has no backup.json"),
    ):
        done = postroad(*words)
        assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    done = postroad("restore", tmp_path)
    assert (done.returncode, "name an empty data folder with --to" in done.stderr) == (2, True)


@pytest.mark.req("O6")
def test_a_plain_copy_of_a_stopped_data_folder_still_opens(network: Served, tmp_path: Path) -> None:
    """The backup that earlier versions documented."""
    network.end()
    copytree(network.data, tmp_path / "copy", ignore=ignore_patterns("index.sqlite*", "url"))
    with served(tmp_path / "copy") as again, again.client(SELLER) as seller:
        assert [message.possible_duplicate for message in seller.poll(10, wait_s=10)] == [False] * 3
