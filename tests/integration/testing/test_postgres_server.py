"""The PostgreSQL that other tests rely on really starts, keeps what it was given, and leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from postroad.errors import Misconfigured
from postroad.testing.postgres import PostgresServer
from postroad.testing.postgres_programs import PROGRAMS_VARIABLE, find_programs, machine_programs, main, wheel_programs


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


def test_it_syncs_to_disk_unless_told_otherwise(server: PostgresServer) -> None:
    assert server.execute("SHOW fsync") == "on"
    with PostgresServer(fsync=False) as careless:
        assert careless.execute("SHOW fsync") == "off"


def test_what_was_committed_survives_a_stop_at_once(server: PostgresServer) -> None:
    server.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    port = server.port
    server.stop(immediate=True)
    assert not server.is_running
    server.start()
    assert server.port == port
    assert server.execute("SELECT answer FROM kept") == "42"
    assert "automatic recovery in progress" in server.log


def test_an_orderly_restart_needs_no_recovery(server: PostgresServer) -> None:
    seen = len(server.log)
    server.restart()
    assert server.is_running
    assert "automatic recovery" not in server.log[seen:]


async def test_tcp_connections_need_the_password_of_the_dsn(server: PostgresServer) -> None:
    connection = await asyncpg.connect(server.dsn())
    assert await connection.fetchval("SELECT current_user") == "postgres"
    await connection.close()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(f"postgresql://postgres:wrong@127.0.0.1:{server.port}/postgres")


def test_a_database_starts_with_what_its_template_has(server: PostgresServer) -> None:
    server.create_database("schema")
    server.execute("CREATE TABLE migrated (version int)", database="schema")
    server.create_database("copy", template="schema")
    assert server.execute("SELECT count(*) FROM migrated", database="copy") == "0"


def test_closing_removes_data_and_process() -> None:
    server = PostgresServer()
    home, process_id = (
        server.data_directory.parent,
        int((server.data_directory / "postmaster.pid").read_text().split()[0]),
    )
    server.close()
    assert not home.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)


def test_the_programs_of_the_wheel_work_too() -> None:
    programs = next(wheel_programs(), None)
    if programs is None:
        pytest.skip("no wheel with PostgreSQL programs for this kind of machine")
    with PostgresServer(programs=programs) as server:
        assert server.execute("SELECT 1") == "1"
        server.restart(immediate=True)
        assert server.execute("SELECT 1") == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has programs that the server's user cannot read")
@pytest.mark.parametrize("source", [machine_programs, wheel_programs])
def test_programs_in_a_private_folder_are_copied_to_where_the_server_may_read_them(
    source: Callable[[], Iterator[Path]], tmp_path: Path
) -> None:
    programs = next(source(), None)
    if programs is None:
        pytest.skip(f"this machine has none of {source.__name__}")
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    package = programs.parents[1]
    for folder in package.parent.glob(f"{package.name}*"):
        (private / folder.name).symlink_to(folder)
    with PostgresServer(programs=private / programs.relative_to(package.parent)) as server:
        assert server.data_directory.parent in server.programs.parents
        assert server.execute("SELECT 1") == "1"


def test_a_test_gets_an_empty_database_of_its_own(postgres: PostgresServer, postgres_database: str) -> None:
    name = postgres_database.rsplit("/", 1)[1]
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database=name) == "0"
    assert name not in {"postgres", "template1"}


def test_a_named_folder_without_programs_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PROGRAMS_VARIABLE, str(tmp_path))
    with pytest.raises(Misconfigured, match=PROGRAMS_VARIABLE):
        find_programs()
    assert main() == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_a_failing_statement_is_seen(server: PostgresServer) -> None:
    with pytest.raises(RuntimeError, match="syntax error"):
        server.execute("SELEC 1")
