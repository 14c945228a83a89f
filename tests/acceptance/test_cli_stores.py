"""Commands that look after a network's stores on its own machine: verify, index, bodies, doctor."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import asyncpg
import pytest

from postroad.adapters.index.sqlite_file import open_writer
from tests.preloaded import PROGRAM
from tests.samples.served_network import (
    SMALL,
    Served,
    clean_environment,
    json_lines,
    postroad,
    served,
    succeeded,
)

BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"
MARK = "a body that is easily found again"


@pytest.fixture
def stopped(tmp_path: Path) -> Served:
    """A network with a few messages, whose server has ended."""
    with served(tmp_path / "data") as network:
        network.register(BUYER, SELLER)
        with network.client(BUYER) as buyer, network.client(SELLER) as seller:
            for _ in range(5):
                buyer.post(to=SELLER, document=MARK)
            seller.acknowledge(*seller.poll(2, wait_s=10))
    return network


def changed_journal(network: Served, old: bytes, new: bytes) -> None:
    for segment in (network.data / "journal").glob("*.seg"):
        data = segment.read_bytes()
        if old in data:
            segment.write_bytes(data.replace(old, new, 1))
            return
    raise AssertionError(f"{old!r} is not in the journal")


@pytest.mark.req("A3")
def test_verify_finds_what_was_changed(stopped: Served) -> None:
    assert "complete and unchanged" in succeeded("verify", "--data", stopped.data)
    changed_journal(stopped, MARK.encode(), MARK.upper().encode())
    done = postroad("verify", "--data", stopped.data, "--json")
    [found] = json_lines(done.stdout)
    assert done.returncode == 1
    assert [fault["kind"] for fault in found["faults"]] == ["changed"]
    assert "restore the journal" in postroad("verify", "--data", stopped.data).stdout


@pytest.mark.req("A3")
def test_verify_finds_a_cut_off_end_by_the_index(stopped: Served) -> None:
    for file in (stopped.data / "journal").iterdir():
        if file.suffix == ".seg" or file.name == "durable":
            file.unlink()
    blind = postroad("verify", "--data", stopped.data, "--no-index")
    assert (blind.returncode, "not compared" in blind.stdout) == (5, True)
    done = postroad("verify", "--data", stopped.data)
    assert done.returncode == 1
    assert "truncated" in done.stdout


@pytest.mark.req("A3")
def test_verify_compares_with_a_head_that_was_noted_elsewhere(stopped: Served, tmp_path: Path) -> None:
    key, heads = tmp_path / "head.key", tmp_path / "heads"
    succeeded("head", "--new-key", key)
    heads.write_text(succeeded("head", "--sign", key, "--data", stopped.data))
    [found] = json_lines(succeeded("verify", "--data", stopped.data, "--json"))
    assert found["head"] == heads.read_text().split()[3] == succeeded("head", "--data", stopped.data).strip()
    assert found["index"] == "same"
    for file in stopped.data.glob("index.sqlite*"):
        file.unlink()
    [blind] = json_lines(postroad("verify", "--data", stopped.data, "--json").stdout)
    assert (blind["index"], blind["noted_heads"]) == ("none", 0)
    assert postroad("verify", "--data", stopped.data).returncode == 5
    public = f"{key}.pub"
    signed = ("verify", "--data", stopped.data, "--head", heads, "--public-key")
    assert "compared with noted heads: 1" in succeeded(*signed, public)
    succeeded("head", "--new-key", tmp_path / "other.key")
    forged = postroad(*signed, tmp_path / "other.key.pub")
    assert (forged.returncode, "signature does not fit" in forged.stderr) == (1, True)
    entries, _, chain = found["head"].partition(":")
    other = postroad("verify", "--data", stopped.data, "--head", f"{entries}:{chain[::-1]}")
    assert (other.returncode, "not the one noted" in other.stdout) == (1, True)
    longer = postroad("verify", "--data", stopped.data, "--head", f"{int(entries) + 1}:{chain}")
    assert (longer.returncode, "truncated" in longer.stdout) == (1, True)


@pytest.mark.req("A3")
def test_verify_and_doctor_find_a_damaged_index(stopped: Served) -> None:
    index = stopped.data / "index.sqlite"
    size = index.stat().st_size
    with index.open("r+b") as file:
        file.seek(size * 2 // 3)
        file.write(b"\x5a" * 4096)
    done = postroad("verify", "--data", stopped.data)
    assert (done.returncode, f"index {index}: the file is damaged" in done.stdout) == (1, True)
    assert "complete and unchanged" in done.stdout  # the journal is
    checked = postroad("doctor", "--data", stopped.data)
    assert (checked.returncode, f"index {index}: the file is damaged" in checked.stdout) == (1, True)


@pytest.mark.req("A3")
def test_verify_and_doctor_find_rows_that_are_missing(stopped: Served) -> None:
    """Pages with valid checksums and the wrong rows, as after a lost write."""
    writer = open_writer(stopped.data / "index.sqlite")
    writer.execute("DELETE FROM message WHERE seq = (SELECT max(seq) FROM message)")
    writer.close()
    done = postroad("verify", "--data", stopped.data)
    assert (done.returncode, "table message has" in done.stdout) == (1, True)
    checked = postroad("doctor", "--data", stopped.data)
    assert (checked.returncode, "messages are missing in it" in checked.stdout) == (1, True)


def test_an_index_is_made_anew_from_the_journal(stopped: Served) -> None:
    [before] = json_lines(succeeded("index", "status", "--json", "--data", stopped.data))
    assert before["behind"] == 0
    for file in stopped.data.glob("index.sqlite*"):
        file.unlink()
    [lost] = json_lines(succeeded("index", "status", "--json", "--data", stopped.data))
    assert lost["behind"] == lost["journal"] == before["journal"]
    (stopped.data / "index.sqlite").write_bytes(b"not a database" * 1000)
    damaged = postroad("index", "status", "--data", stopped.data)
    assert (damaged.returncode, "index rebuild" in damaged.stderr) == (1, True)
    [rebuilt] = json_lines(succeeded("index", "rebuild", "--json", "--data", stopped.data))
    assert rebuilt["entries"] == before["journal"]
    stopped.start()
    try:
        refused = postroad("index", "rebuild", "--data", stopped.data)
        with stopped.client(SELLER) as seller:
            waiting = seller.poll(10, wait_s=10)
    finally:
        stopped.end()
    assert (refused.returncode, "stop it first" in refused.stderr) == (1, True)
    assert len(waiting) == 3  # the other two were acknowledged before


@pytest.mark.req("A3")
def test_bodies_go_while_the_audit_trail_stays(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        network.register(BUYER, SELLER)
        with network.client(BUYER) as buyer, network.client(SELLER) as seller:
            session = buyer.post(to=SELLER, document=MARK).session
            for _ in range(6):
                buyer.post(to=SELLER, document=b"x" * 300_000)  # fills more than one segment
            seller.acknowledge(*seller.poll(10, wait_s=10))
            last = buyer.post(to=SELLER, document="still waiting").session
    settings = ("--data", network.data, "--set", "segment_bytes=1048576")
    [kept] = json_lines(succeeded("bodies", "drop", "--before", "1d", "--json", *settings))
    assert kept["segments"] == 0
    [dropped] = json_lines(succeeded("bodies", "drop", "--before", "0s", "--json", *settings))
    assert dropped["segments"] >= 1
    assert dropped["freed_bytes"] > 600_000
    assert not [file for file in (network.data / "journal").iterdir() if MARK.encode() in file.read_bytes()]
    assert "complete and unchanged" in succeeded("verify", "--data", network.data)
    network.start()
    try:
        assert "delivered" in succeeded("trace", session, "--data", network.data)
        with network.client(SELLER) as seller:
            assert [item.session for item in seller.poll(10, wait_s=10)] == [last]
    finally:
        network.end()


@pytest.mark.req("O3", "A3")
async def test_a_network_in_postgres_is_served_and_verified(postgres_database: str, tmp_path: Path) -> None:
    file = tmp_path / "shared.toml"
    file.write_text(
        f'acceptance = "shared"\nindex = "postgres"\npostgres = "{postgres_database}"\nsecret = "{"5e" * 32}"\n'
    )
    arguments = ("--config", str(file))
    with served(tmp_path / "data", *arguments) as network:
        network.register(BUYER, SELLER)
        with network.client(BUYER) as buyer, network.client(SELLER) as seller:
            session = buyer.post(to=SELLER, document=MARK).session
            seller.acknowledge(*seller.poll(wait_s=10))
            assert seller.trace(session).messages[0].copies[0].stops[0].state == "delivered"
        assert "complete and unchanged" in succeeded("verify", *arguments)
        [status] = json_lines(succeeded("index", "status", "--json", *arguments))
        assert status["journal"] >= 4
    connection = await asyncpg.connect(postgres_database)
    try:
        await connection.execute("UPDATE journal_group SET facts = overlay(facts PLACING '\\x00'::bytea FROM 3)")
    finally:
        await connection.close()
    done = postroad("verify", *arguments)
    assert (done.returncode, "changed" in done.stdout) == (1, True)


@pytest.mark.req("K2")
def test_the_doctor_looks_at_everything(stopped: Served, tmp_path: Path) -> None:
    [findings] = json_lines(succeeded("doctor", "--json", "--data", stopped.data, "--set", "port=0"))
    assert [finding["what"] for finding in findings] == [
        "python", "sqlite", "data folder", "disk", "clock", "tls", "port", "store", "backup", "credentials", "secrets", "as2",
        "pushes",
    ]  # fmt: skip
    assert {finding["state"] for finding in findings} <= {"ok", "warning"}
    sick = postroad("doctor", "--data", stopped.data, "--set", f"least_free_bytes={1 << 60}")
    assert (sick.returncode, "free disk space" in sick.stdout) == (1, True)


def test_the_doctor_says_where_settings_come_from(tmp_path: Path) -> None:
    (tmp_path / "postroad.toml").write_text('log_level = "warning"\n')
    environment = {"POSTROAD_SECRET": "ab" * 32, "POSTROAD_PORT": "9000"}
    rows = json_lines(
        succeeded("doctor", "--settings", "--json", "--set", "host=127.0.0.2", cwd=tmp_path, environment=environment)
    )[0]
    found = {row["name"]: (row["value"], row["origin"]) for row in rows}
    assert found["log_level"] == ("warning", "postroad.toml")
    assert found["port"] == ("9000", "POSTROAD_PORT")
    assert found["secret"] == ("***", "POSTROAD_SECRET")
    assert found["host"] == ("127.0.0.2", "command line")
    assert found["index"] == ("sqlite", "default")


def test_wrong_settings_are_all_listed(tmp_path: Path) -> None:
    done = postroad("serve", "--data", tmp_path, "--set", "port=70000", "--set", "index=paper")
    assert done.returncode == 1
    assert "port: must be" in done.stderr
    assert "index: must be" in done.stderr
    unknown = postroad("serve", "--set", "colour=red")
    assert (unknown.returncode, "unknown setting" in unknown.stderr) == (1, True)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = postroad("serve", "--data", tmp_path / "data", "--set", f"port={port}", *SMALL)
    assert (done.returncode, f"127.0.0.1:{port} is in use" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "data" / "url").exists()


def test_the_way_in_is_printed_until_an_operator_has_a_password(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        failed = postroad("serve", "--port", str(taken.getsockname()[1]), "--data", tmp_path / "data", *SMALL)
    assert (failed.returncode, "is in use" in failed.stderr) == (1, True)
    assert "operator.key" in (said := first_lines(tmp_path / "data"))
    assert "postroad login-link" in said


def first_lines(data: Path) -> str:
    """What `serve` prints before it has served anything."""
    command = [*PROGRAM, "serve", "--port", "0", "--data", str(data), *SMALL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.terminate()
        return "".join(lines)
