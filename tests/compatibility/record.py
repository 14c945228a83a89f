"""Records what users of this version have on disk: ``python -m tests.compatibility.record FOLDER``.

FOLDER receives the recordings that ``test_recordings.py`` opens: a data folder and a backup of it, a PostgreSQL dump, a
warehouse, and the exported configuration and the answers to questions of each store. Run it with the code of a release, once, and
commit what it writes. If FOLDER has a recording without a backup, only the backup is added.
Rule: a recording that exists is never written again, because it stands for data that users have.
"""

from __future__ import annotations

import asyncio
import json
import logging
import lzma
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import SegmentReader
from postroad.core.model.journal import KINDS, decode
from postroad.testing.postgres import PostgresServer
from tests.compatibility.network_running import Recorded, RecordingClock, recorded_network
from tests.compatibility.story import first_day, second_day
from tests.samples.push_receiver import receiver
from tests.samples.recordings import BACKUP, SECRET, STORES, Store, ask_everything, program, server_on, unpack
from tests.source_tree import ROOT

PERIOD = "2026-10"
AFTER_THE_MONTH_S = 28 * 86_400  # from the second day
DATABASE = "recorded"
SCRATCH = Path(tempfile.gettempdir()) / "postroad-recording"
SMALL = {"segment_bytes": 65_536}  # so that bodies can be dropped after little traffic


def main(target: Path) -> None:
    """Write all recordings into an empty folder, or the backup that an earlier recording lacks."""
    if (target / "embedded.tar.xz").exists() and not (target / BACKUP).exists():
        with scratch_folder() as scratch:
            data = unpack(target / "embedded.tar.xz", scratch / "data")
            back_up(Store(kind="embedded", data=data), target)
        return
    if target.exists() and any(target.iterdir()):
        sys.exit(f"{target} is not empty; recordings are never overwritten, name a new folder")
    target.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.ERROR)  # the clock stands still, of which every server would warn
    with scratch_folder() as scratch, PostgresServer(fsync=False) as postgres:
        for kind in STORES:
            dsn = postgres.create_database(DATABASE) if kind == "shared" else ""
            store = Store(kind=kind, data=scratch / kind / "data", dsn=dsn)
            asyncio.run(recorded(store))
            finish(store, target, postgres)
            print(f"{kind}: recorded")
    for file in sorted(target.iterdir()):
        print(f"{file.name}: {file.stat().st_size} bytes")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """The folder in which everything is made; its path is in the warehouse, so it is the same on every machine."""
    SCRATCH.mkdir()
    try:
        yield SCRATCH
    finally:
        shutil.rmtree(SCRATCH)


async def recorded(store: Store) -> None:
    """Make the traffic of two days in a store, with the bodies of the first day dropped in between."""
    store.data.mkdir(parents=True)
    (store.data / "token.secret").write_text(SECRET + "\n")
    clock, folder = RecordingClock(), store.data.parent
    async with recorded_network(store.data, clock, f"{store.kind} 1", SMALL | store.all_settings) as first:
        await first_day(first)
    print(program(store, "bodies", "drop", "--before", "0s").strip())
    with receiver() as pushed_to:
        async with recorded_network(store.data, clock, f"{store.kind} 2", SMALL | store.all_settings) as second:
            second.sessions |= first.sessions
            await second_day(second, pushed_to, folder)
            await asyncio.to_thread(bill, store, second)
            (folder / "sessions.json").write_text(json.dumps(second.sessions))
    await check_kinds(store)


def bill(store: Store, recorded: Recorded) -> None:
    """Run the pipeline, and issue the invoices of the month after its end; one of them is credited and paid."""
    recorded.clock.advance(AFTER_THE_MONTH_S)
    beside = ["--url", recorded.url, "--key-file", str(store.data / "operator.key")]
    program(store, "pipeline", "run")
    program(store, "billing", "close", PERIOD, *beside)
    [first, *_] = [json.loads(line) for line in program(store, "billing", "invoices", "--json", *beside).splitlines()]
    program(store, "billing", "credit", first["number"], "0.05", "--reason", "an hour without service", *beside)
    program(store, "billing", "pay", first["number"], "0.10", "--on", "2026-11-05", "--reference", "bank 17", *beside)


async def check_kinds(store: Store) -> None:
    """Fail if a kind of entry is missing in the recorded journal."""
    journal: Any
    if store.kind == "shared":
        journal = await PostgresJournal.open(store.dsn)
    else:
        journal = SegmentReader(store.data / "journal")
    found, after = set[str](), 0
    while (batch := await journal.read(after)).records:
        found |= {str(type(decode(record.facts)).__struct_config__.tag) for record in batch.records}
        after = batch.head.seq
    closing = journal.close()
    if closing is not None:
        await closing
    missing = set(KINDS) - found - {"network.restored"}  # it is in restored networks only
    assert not missing, f"nothing recorded of {sorted(missing)}"


def finish(store: Store, target: Path, postgres: PostgresServer) -> None:
    """Write the files of one store: its data, its head, its configuration and its answers."""
    head = json.loads(program(store, "verify", "--json"))["head"]
    check_neutral(store.data)
    warehouse = store.data / "warehouse"
    if warehouse.exists():
        if store.kind == "embedded":
            shutil.move(warehouse, store.data.parent / "kept")
            pack(store.data.parent / "kept", target / "warehouse.tar.xz")
        else:
            shutil.rmtree(warehouse)
    pack(store.data, target / f"{store.kind}.tar.xz")
    if store.kind == "shared":
        dump(postgres, target / "shared.sql.xz")
    else:
        back_up(store, target)
    sessions = json.loads((store.data.parent / "sessions.json").read_text())
    copy = Store(kind=store.kind, data=store.data.parent / "copy" / "data", dsn=store.dsn)
    shutil.copytree(store.data, copy.data)
    with server_on(copy) as server:
        answers = ask_everything(server.url, copy, sessions)
        exported = program(copy, "export", "--url", server.url, "--key-file", copy.data / "operator.key")
    (target / f"{store.kind}.network.yaml").write_text(exported)
    expected = {"head": head, "sessions": sessions, "answers": answers}
    (target / f"{store.kind}.expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


def back_up(store: Store, target: Path) -> None:
    """Record a backup of the store, with its secrets sealed."""
    folder = store.data.parent / "backup"
    program(store, "backup", folder)
    check_neutral(folder)
    pack(folder, target / BACKUP)


def check_neutral(folder: Path) -> None:
    """Fail if a file tells on which machine and from which checkout it was recorded."""
    told = [word.encode() for word in (str(ROOT), platform.node()) if len(word) > 3]
    for path in folder.rglob("*"):
        if path.is_file() and (found := [word for word in told if word in path.read_bytes()]):
            raise AssertionError(f"{path} contains {found}")


def pack(folder: Path, archive: Path) -> None:
    """Pack the files of a folder, without owners and dates."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)


def dump(postgres: PostgresServer, target: Path) -> None:
    """Dump the database as SQL that psql of any version reads, without the nodes, which have the names of machines."""
    command = [
        str(postgres.programs / "pg_dump"),
        "--no-owner",
        "--no-privileges",
        "--exclude-table-data=node",
        postgres.dsn(DATABASE),
    ]
    sql = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    lines = [line for line in sql.splitlines(keepends=True) if not line.startswith((b"\\restrict", b"\\unrestrict"))]
    with lzma.open(target, "wb", preset=9) as packed:
        packed.writelines(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
