"""Every version opens, verifies, continues and rebuilds what earlier versions left on disk (``recordings.py``, ``record.py``)."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroad.adapters.index.comparison import BODY_OFFSET
from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.bootstrap.stores import INDEX_FILE
from postroad.client import Client, Received
from postroad.core.model.level import NEWEST
from postroad.core.projection.tables import TABLES
from postroad.core.resources.billing import InvoiceDetails
from postroad.errors import Refused
from postroad.flow.indexing import catch_up
from postroad.testing.postgres import PostgresServer
from postroad.testing.server import ServerProcess
from tests.samples.index_tables import tables
from tests.samples.push_receiver import Receiver, receiver
from tests.samples.recordings import (
    BACKUP,
    MASTER_KEY,
    OPERATOR,
    SECRET,
    STORED_SECRET,
    STORES,
    TRACE,
    VERSIONS,
    Store,
    ask_everything,
    differences,
    expected,
    key_of,
    program,
    restored,
    server_on,
    unpack,
)
from tests.samples.served_network import postroad

WAIT_S = 20.0
EMPTY_NETWORK = {"push_allow_private": "127.0.0.0/8,10.0.0.0/8"}  # the exported file has pushes there
BEFORE_LEVELS = {"v0_2"}  # recordings that have no level
OF_PROVIDERS = ("Accounts", "Shipping")  # services of Harbor that stand for an account; a file cannot confirm one


@pytest.fixture(params=VERSIONS, ids=lambda version: version.name)
def version(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, version: Path, tmp_path: Path, postgres: PostgresServer, postgres_database: str
) -> Store:
    """A copy of a recorded store."""
    return restored(version, request.param, tmp_path, postgres, postgres_database.rpartition("/")[2])


@pytest.fixture
def recorded(version: Path, store: Store) -> dict[str, Any]:
    return expected(version, store.kind)


def client(server: ServerProcess, who: str) -> Client:
    return Client(server.url, server.operator_key if who == OPERATOR else key_of(who))


def next_at(server: ServerProcess, who: str, count: int = 1) -> list[Received]:
    """The next deliveries of a service, acknowledged."""
    found: list[Received] = []
    with client(server, who) as polling:
        while len(found) < count:
            polled = polling.poll(count - len(found), wait_s=WAIT_S)
            assert polled, f"{who} received {len(found)} of {count} messages"
            polling.acknowledge(*polled)
            found += polled
    return found


def test_there_are_recordings() -> None:
    assert VERSIONS


@pytest.mark.req("O7")
def test_verify_finds_the_recorded_head(store: Store, recorded: dict[str, Any]) -> None:
    assert "complete and unchanged" in program(store, "verify", "--head", recorded["head"])


@pytest.mark.req("O7")
def test_questions_are_answered_as_they_were(store: Store, recorded: dict[str, Any]) -> None:
    with server_on(store) as server:
        answers = ask_everything(server.url, store, recorded["sessions"])
    assert list(differences(recorded["answers"], answers)) == []


@pytest.mark.req("O7")
def test_a_server_continues_it(version: Path, store: Store, recorded: dict[str, Any]) -> None:
    sessions = recorded["sessions"]
    with server_on(store) as server:
        continue_waiting(server, sessions, is_first=version.name in BEFORE_LEVELS)
        continue_batch(server, sessions)
        continue_dead_letter(server, sessions)
        continue_hidden(server)
        raise_level(server)
        continue_billing(server)
        with client(server, "Harbor/Desk") as sender:
            new = sender.post(to=["Mill/Store", "Mill/Branch"], document="<new/>").session
        assert [next_at(server, who)[0].session for who in ("Mill/Store", "Mill/Branch")] == [new, new]
        with client(server, OPERATOR) as operator:
            assert [copy.state for copy in operator.trace(new).messages[0].copies] == ["delivered", "delivered"]
    assert "complete and unchanged" in program(store, "verify", "--head", recorded["head"])


def continue_waiting(server: ServerProcess, sessions: dict[str, str], *, is_first: bool) -> None:
    """What waited is delivered once, a request among it is answered, and its requester has the response."""
    with client(server, "Mill/Branch") as receiver:
        found = receiver.poll(10, wait_s=WAIT_S)
        assert [one.session for one in found] == [sessions[f"waiting {name}"] for name in ("request", "2", "3")]
        receiver.reply(found[0], "<confirmation/>")
        if not is_first:
            assert (found[0].traceparent, found[0].tracestate) == TRACE
        receiver.acknowledge(*found[1:])
        assert receiver.poll() == []
    [response] = next_at(server, "Harbor/Desk")
    assert response.reference is not None
    assert (response.reference.handle, response.parts[0].data) == ("W-1", b"<confirmation/>")


def continue_batch(server: ServerProcess, sessions: dict[str, str]) -> None:
    """The batch that was open takes two more messages, and is sent with the recorded one."""
    with client(server, "Quay/Sales") as sender:
        for number in (2, 3):
            sender.post(to="Quay/lines", document={"line": f"new {number}"})
    [interchange] = next_at(server, "Quay/inbox")
    assert interchange.parts[0].data.splitlines() == [b'{"line":"open"}', b'{"line":"new 2"}', b'{"line":"new 3"}']
    with client(server, OPERATOR) as operator:
        assert operator.batches.batch(sessions["batch open"])["state"] in ("assembled", "sent")


def continue_dead_letter(server: ServerProcess, sessions: dict[str, str]) -> None:
    """A recorded dead letter is sent again, to the service where it failed."""
    with client(server, OPERATOR) as operator:
        [letter] = operator.dead_letters.list(session=sessions["failed in transit"])
        operator.dead_letters.resend(letter["delivery"], reason="new ink")
    [again] = next_at(server, "Lane/Stamp")
    assert again.session == sessions["failed in transit"]


def continue_hidden(server: ServerProcess) -> None:
    """A recorded provisioning still stands for its account: the provider sees the cookie, and not the sender."""
    with client(server, "Harbor/Desk") as sender:
        session = sender.post(to="Harbor/Shipping", type="request", document="a box").session
    with client(server, "Parcels/Dispatch") as provider:
        [request] = provider.poll(1, wait_s=WAIT_S)
        assert request.cookie is not None
        assert (request.sender, request.cookie.content) == ("Harbor/Shipping", "<account>P-7</account>")
        assert request.session != session
        provider.reply(request, "tomorrow")
    [response] = next_at(server, "Harbor/Desk")
    assert response.transaction == session


def raise_level(server: ServerProcess) -> None:
    """A recorded network keeps its level, at which nothing is written that its version cannot read, until it is raised."""
    with client(server, OPERATOR) as operator:
        before = operator.get("/v1/level")
        if before["level"] < 2:
            with pytest.raises(Refused, match="network level 2, and the network is at level 1"):
                operator.billing.credit(operator.billing.documents()[0].number, "0.50", "an hour without service")
        assert operator.change("POST", "/v1/level", {})["level"] == before["newest"] == NEWEST


def continue_billing(server: ServerProcess) -> None:
    """Recorded invoices (configuration in the first recording) are corrected, credited and paid by entries of their own."""
    with client(server, OPERATOR) as operator:
        recorded = operator.billing.documents()
        period, last, count = recorded[0].period, recorded[-1].number, len(recorded)
        accounts = [
            {"organization": one.organization, "currency": one.currency, "tariffs": one.tariffs, "lines": charged(one)}
            for one in recorded
            if not one.corrects  # what was charged; a credit note has no charges
        ]
        counted = {"through": recorded[0].through, "latest": 2**52, "accounts": accounts}
        assert operator.billing.issue(period, counted=counted).items == [], "recorded invoices are right"
        accounts[0]["lines"] = [one | {"micros": one["micros"] + 1_000_000} for one in charged(recorded[0])]
        [correction] = operator.billing.issue(period, counted=counted).items
        assert (correction.corrects, correction.number) == (recorded[0].number, f"{period}-{count + 1:04d}")
        assert correction.number > last
        note = operator.billing.credit(recorded[0].number, "0.50", "an hour without service")
        assert (note.number, note.total) == (f"{period}-{count + 2:04d}", "-0.50")
        [paid] = [one for one in operator.billing.invoices() if one.payments]
        again = operator.billing.pay(paid.number, "0.25")
        assert again.payment.id == f"{paid.number}/{len(paid.payments) + 1}"
        assert Decimal(again.invoice.paid) == Decimal(paid.paid) + Decimal("0.25")


def charged(document: InvoiceDetails) -> list[dict[str, Any]]:
    """The sums of a document's lines, as a warehouse would count them."""
    names = ("kind", "part", "tariff", "quantity", "kilobytes", "micros")
    return [{name: getattr(line, name) for name in names} | {"service": line.service_id} for line in document.lines]


@pytest.mark.req("O6", "O7")
def test_a_backup_is_restored_at_a_level_that_has_the_restore(
    version: Path, store: Store, recorded: dict[str, Any], postgres: PostgresServer, tmp_path: Path
) -> None:
    """Otherwise an earlier version would open the restored network, and fail at the entry about the restore."""
    program(store, "backup", tmp_path / "backup")
    again = Store(kind=store.kind, data=tmp_path / "again")
    target: list[str | Path] = ["--to", again.data]
    if store.kind == "shared":
        again = replace(again, dsn=postgres.create_database(f"{store.dsn.rpartition('/')[2]}_again"))
        target += ["--to-postgres", again.dsn]
    key = {"POSTROAD_MASTER_KEY": MASTER_KEY}
    done = postroad("restore", tmp_path / "backup", *target, environment=key, timeout=300)
    assert done.returncode == 0, done.stderr
    assert ("raises the network level" in done.stdout) == (version.name in BEFORE_LEVELS)
    with server_on(again) as server, client(server, OPERATOR) as operator:
        assert operator.get("/v1/level")["level"] == NEWEST
        assert operator.change("POST", "/v1/level", {})["level"] == NEWEST
    assert "complete and unchanged" in program(again, "verify", "--head", recorded["head"])


@pytest.mark.req("O6", "O7", "O9")
@pytest.mark.parametrize("version", [one for one in VERSIONS if (one / BACKUP).exists()], ids=lambda one: one.name)
def test_a_recorded_backup_is_verified_restored_and_continued(version: Path, tmp_path: Path) -> None:
    backup, recorded = unpack(version / BACKUP, tmp_path / "backup"), expected(version, "embedded")
    assert json.loads((backup / "backup.json").read_text())["secrets"] == "sealed"
    store = Store(kind="embedded", data=tmp_path / "restored")
    told = program(store, "backup", "verify", backup, "--restore")
    assert f"complete and unchanged\nhead {recorded['head']}" in told
    done = postroad("restore", backup, "--to", store.data, "--nothing-lost", environment=store.environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (store.data / "token.secret").read_text().strip() == SECRET
    assert "complete and unchanged" in program(store, "verify", "--head", recorded["head"])
    with receiver() as receiving:
        pushed = push_with_stored_secret(replace(store, settings={"push_allow_private": "127.0.0.0/8"}), receiving)
    assert pushed == f"mill:{STORED_SECRET}"
    program(store, "backup", backup)
    assert "complete and unchanged" in program(store, "backup", "verify", backup)
    assert not (backup / "backup.secrets").exists(), "files of format 1 are replaced"


@pytest.mark.req("O7", "O9")
def test_a_stored_secret_is_opened_or_waits_for_the_level(version: Path, store: Store) -> None:
    if version.name in BEFORE_LEVELS:
        with server_on(store) as server, client(server, "owner@mill.example") as owner:
            with pytest.raises(Refused, match="network level 2, and the network is at level 1"):
                owner.secrets.set("Mill", "hook", STORED_SECRET)
            raise_level(server)
            assert owner.secrets.set("Mill", "hook", STORED_SECRET).version == 1
        return
    with receiver() as receiving:
        pushed = push_with_stored_secret(replace(store, settings={"push_allow_private": "127.0.0.0/8"}), receiving)
    assert pushed == f"mill:{STORED_SECRET}"


def push_with_stored_secret(store: Store, receiving: Receiver) -> str:
    """Push a message to a new service of Mill; returns name and password that authenticated it."""
    with server_on(store) as server, client(server, OPERATOR) as operator:
        push = {"url": receiving.url("/sealed"), "authentication": "basic", "username": "mill"}
        profile = {"visibility": "public", "delivery": "push", "push": push | {"secretFrom": "secret:hook"}}
        document = {"postroad": 1, "organizations": {"Mill": {"services": {"Sealed": profile}}}}
        operator.apply(document, version=operator.plan(document).version)
        with client(server, "Harbor/Desk") as sender:
            sender.post(to="Mill/Sealed", document="again")
        [pushed] = receiving.wait_for("/sealed")
        listed = operator.secrets.list("Mill")
    assert [(one.name, one.version, one.is_stored) for one in listed] == [("hook", 2, True)]
    return b64decode(str(pushed.headers["authorization"]).removeprefix("Basic ")).decode()


@pytest.mark.req("O7", "P3")
async def test_an_index_of_both_kinds_of_invoices_is_rebuilt(store: Store) -> None:
    with server_on(store) as server:
        raise_level(server)
        continue_billing(server)
        with client(server, OPERATOR) as operator:
            documents, balances = operator.billing.documents(), operator.billing.invoices()
    before = await rows(store)
    program(store, "index", "rebuild")
    after = await rows(store)
    for name in ("object", "object_version", "seen"):
        assert after[name] == before[name], name
    with server_on(store) as server, client(server, OPERATOR) as operator:
        assert (operator.billing.documents(), operator.billing.invoices()) == (documents, balances)


@pytest.mark.req("O7")
async def test_a_rebuilt_index_is_the_recorded_one(store: Store, recorded: dict[str, Any]) -> None:
    if store.kind == "embedded":
        await SqliteIndex(store.data / INDEX_FILE).close()  # as the server does it, so that both have the same columns
    before = await rows(store)
    assert before["message"]
    program(store, "index", "rebuild")
    after = await rows(store)
    for name in before:
        assert [place_of_body(name, *both) for both in zip(before[name], after[name], strict=True)] == after[name], name
    program(store, "verify", "--head", recorded["head"])


async def rows(store: Store) -> dict[str, list[Any]]:
    """All rows of the index, by table, once it knows the whole journal; nodes that stop leave the last entries to the next."""
    if store.kind == "embedded":
        return await tables(store.data)
    journal, index = await PostgresJournal.open(store.dsn), await PostgresIndex.open(store.dsn)
    try:
        await catch_up(journal, index)
        found = {name: sorted(await index.rows(name), key=repr) for name in TABLES}
        return found | {"position": [await index.position()]}
    finally:
        await index.close()
        await journal.close()


def place_of_body(table: str, before: Any, after: Any) -> Any:
    """A row of before the rebuild; a rebuilt index has no place of a body that is no longer kept."""
    if BODY_OFFSET not in TABLES.get(table, ()):
        return before
    column = TABLES[table].index(BODY_OFFSET)
    return (*before[:column], after[column] and before[column], *before[column + 1 :])


def test_the_export_is_the_recorded_one(version: Path, store: Store) -> None:
    with server_on(store) as server:
        exported = export(store, server)
    recorded = yaml.safe_load((version / f"{store.kind}.network.yaml").read_text())
    assert list(differences(recorded, exported)) == []


def export(store: Store, server: ServerProcess) -> Any:
    return yaml.safe_load(program(store, "export", "--url", server.url, "--key-file", store.data / "operator.key"))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[Store, ServerProcess]]:
    store = Store(kind="embedded", data=tmp_path / "empty", settings=EMPTY_NETWORK)
    with server_on(store) as server:
        yield store, server


def test_the_exported_file_applies_to_an_empty_network(
    version: Path, empty: tuple[Store, ServerProcess], tmp_path: Path
) -> None:
    store, server = empty
    document = yaml.safe_load((version / "embedded.network.yaml").read_text())
    wanted = movable(document, key_of)
    file = tmp_path / "network.yaml"
    file.write_text(yaml.safe_dump(wanted))
    there: list[str | Path] = ["--url", server.url, "--key-file", store.data / "operator.key"]
    assert "Applied." in program(store, "apply", file, "--yes", *there)
    assert "Nothing to change" in program(store, "apply", file, "--dry-run", *there)
    for service in document["organizations"]["Harbor"]["services"].keys() & set(OF_PROVIDERS):
        del document["organizations"]["Harbor"]["services"][service]
    assert list(differences(document, export(store, server))) == []


def movable(document: Any, key: Callable[[str], str]) -> Any:
    """A copy of an exported document with a key in the place of every credential that is kept."""
    copy = yaml.safe_load(yaml.safe_dump(document))
    for house, organization in copy["organizations"].items():
        for service in OF_PROVIDERS:
            organization["services"].pop(service, None)
        for name, service in organization["services"].items():
            for credential in service["credentials"]:
                del credential["kept"]
                credential["key"] = key(f"{house}/{name}")
    return copy


def test_a_difference_is_found(version: Path) -> None:
    """The comparison reports what is gone, what is new in a list, and what has another value; a new field is none."""
    answers = expected(version, "embedded")["answers"]
    today = yaml.safe_load(yaml.safe_dump(answers))
    assert list(differences(answers, today)) == []
    groups = today["operator /v1/dead-letters/groups"]["body"]["items"]
    groups[0]["added"] = True
    assert list(differences(answers, today)) == []
    groups[0]["cause"], groups[1] = "other", {}
    today["postroad billing invoices --json"].pop()
    found = list(differences(answers, today))
    assert [one for one in found if "'failed-in-transit' and is 'other'" in one]
    assert [one for one in found if "/1/cause is missing" in one]
    assert [one for one in found if one.startswith("/postroad billing invoices --json")]
