"""Opening recorded data: unpack it, run the program on it, ask the questions whose answers were recorded, and compare.

Rule: recordings are reached as their users reach them, by the program and over HTTP. A version that renames a field or a
text of its answers adds it to ``FIELDS``, ``WORDS`` or ``PHRASES``; the recordings themselves stay as they are.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2

from postroad.core.identity import api_key
from postroad.testing.postgres import PostgresServer
from postroad.testing.server import ServerProcess
from tests.samples.served_network import postroad
from tests.source_tree import ROOT

FOLDER = ROOT / "tests" / "compatibility"
VERSIONS = sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name.startswith("v"))
STORES = ("embedded", "shared")
BACKUP = "backup.tar.xz"  # of the embedded store; not every recording has one
SECRET = "5e" * 32  # a test key: delivery tokens and pseudonyms are derived from it
MASTER_KEY = "0d" * 32  # seals the stored secrets of the recordings
STORED_SECRET = "correct horse"  # the password hook of Mill
TRACE = ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=17")  # traceparent and tracestate
OPERATOR = "operator"
HARBOR = "owner@harbor.example"
ELSEWHERE = ("order ", "line ", "broken ", "purchase ", "rejected ", "padding", "fits", "beyond ")  # not sent by Harbor
EXPLAINED = {
    "purchase order",
    "rejected by a filter",
    "request",
    "several recipients",
    "in transit",
    "refused",
    "hidden",
}
FIELDS = {
    "dirt": "onEnvelopeError",
    "facts": "options",
}  # fields of answers that have another name now: recorded name, name today
GROWING = {"daysLate"}  # fields that count up to the day on which they are asked for
WORDS = {
    "Lane/Weigh stands after Harbor/Desk": "Lane/Weigh is inserted after Harbor/Desk",
    "the receiver refuses it (4xx); see its address, its authentication, and what it thinks of the message": (
        "the receiver rejects it (4xx); check the endpoint, the authentication, and the receiver's response"
    ),
    "the receiver fails (5xx); resend when it is well again": "the receiver fails (5xx); resend when it has recovered",
    "the receiver redirects; set the push address that it leads to": (
        "the receiver redirects; set the push URL that it redirects to"
    ),
    "the receiver does not answer in time; it may have taken the message all the same": (
        "the receiver does not respond in time; it may still have received the message"
    ),
    "the receiver's answer cannot be used; it may have taken the message all the same": (
        "the receiver's response is invalid; it may still have received the message"
    ),
    "the receiver cannot be reached; check its name and port": "the receiver cannot be reached; check host name and port",
    "the receiver's certificate, or ours, is not accepted": "the receiver's certificate or the network's is not accepted",
    "the service's push settings lack something": "the service's push settings are incomplete",
    "the service takes it and never acknowledges it": "the service polls it and never acknowledges it",
    "a service on the way answered with an error": "an in-transit service returned an error",
    "the service takes messages only whole, and its format has no place for all of this one": (
        "the service insists on lossless delivery, and its format cannot carry all of this message"
    ),
    "the interchange cannot be taken, or the message does not fit into one; its reason names every fault": (
        "the interchange is not accepted, or the message does not fit into one; the reason lists every error"
    ),
    "see the reason of each": "see the reason of each dead letter",
    "The body of this message is no longer kept; its history still is": (
        "The body of this message is no longer stored; its history still is"
    ),
    "The body is no longer kept": "The body is no longer stored",
    "the message goes on": "the message continues",
    "switched off: nothing goes this way": "disabled",
}  # texts of answers that read otherwise now: recorded text, text today
PHRASES = tuple(
    (re.compile(recorded), today)
    for recorded, today in (
        (r"^taken over by (\S+)$", r"delivered to \1"),
        (r"^given up at (\S+) and kept", r"failed at \1 and kept"),
        (r"^withdrawn before (\S+) took it", r"cancelled before \1 received it"),
        (r"^expired before (\S+) took it", r"expired before \1 received it"),
        (r"^(\S+) has it\.", r"\1 has received it."),
        (r"; left out: ", "; omitted: "),
        (r"what begins here is the engine's", "what begins here needs the engine"),
    )
)  # texts with names in them
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
RECORDED_UNTIL, WAITS_UNTIL = "2026-10-08", "2100-01-01"  # no recorded moment lies between them
OPENED = "when it was opened"

PEOPLE = (HARBOR, "viewer@harbor.example", "owner@mill.example", "developer@quay.example")
PATHS = (
    ("operator", "/v1/dead-letters/groups"),
    ("operator", "/v1/dead-letters?limit=200"),
    ("owner@mill.example", "/v1/dead-letters/groups"),
    ("operator", "/v1/batches?service=Quay/orders&state=sent"),
    ("operator", "/v1/batches?service=Quay/lines&state=open"),
    ("operator", "/v1/batches?service=Quay/stuck&state=suspended"),
    ("operator", "/v1/organizations?limit=200"),
    ("operator", "/v1/services?limit=200"),
    ("operator", "/v1/support"),
    ("operator", "/v1/find?q=H-2"),
    ("owner@mill.example", "/v1/find?q=4711"),
    (HARBOR, "/v1/messages?limit=200"),
    (HARBOR, "/v1/organizations/Harbor/provisionings"),
    (HARBOR, "/v1/organizations/Harbor/usage"),
    (HARBOR, "/v1/organizations/Harbor/versions"),
    (HARBOR, "/v1/organizations/Harbor/members"),
    (HARBOR, "/v1/services/Harbor%2FDesk/cookies"),
    (HARBOR, "/v1/services/Harbor%2FDesk/rules"),
    (HARBOR, "/v1/configuration"),
    ("Harbor/Desk", "/v1/directory?limit=200"),
    ("operator", "/v1/services/Hall%2FOrders/bindings"),
    ("operator", "/v1/services/Hall%2FRegions/model/nodes"),
    ("operator", "/v1/services/Hall%2FRegions/model/receivers?topic=news&node=world"),
    ("operator", "/v1/services/Mill%2FHeld/versions"),
)


@dataclass(frozen=True, kw_only=True)
class Store:
    """Where a network keeps its data: in a folder, or in a folder and a PostgreSQL database."""

    kind: str
    data: Path
    dsn: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def all_settings(self) -> dict[str, Any]:
        shared = {"acceptance": "shared", "index": "postgres", "postgres": self.dsn, "secret": SECRET}
        return {"master_key": MASTER_KEY} | (shared if self.kind == "shared" else {}) | self.settings

    @property
    def environment(self) -> dict[str, str]:
        return {f"POSTROAD_{name.upper()}": str(value) for name, value in self.all_settings.items()}

    @property
    def operator_key(self) -> str:
        return (self.data / "operator.key").read_text().strip()


def api_key_of(who: str) -> api_key.ApiKey:
    """The API key of a service or a person in the recordings, made from its name."""
    return api_key.make(sha256(f"postroad recording {who}".encode()).digest())


def key_of(who: str) -> str:
    return api_key_of(who).text


def restored(version: Path, kind: str, folder: Path, postgres: PostgresServer, database: str) -> Store:
    """A copy of a recording that a test may change; ``database`` is an empty database."""
    data = folder / "data"
    unpack(version / f"{kind}.tar.xz", data)
    if kind == "embedded":
        return Store(kind=kind, data=data)
    sql = folder / "shared.sql"
    with lzma.open(version / "shared.sql.xz") as packed, sql.open("wb") as file:
        shutil.copyfileobj(packed, file)
    psql = [
        str(postgres.programs / "psql"),
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-f",
        str(sql),
        postgres.dsn(database),
    ]
    done = subprocess.run(psql, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Store(kind=kind, data=data, dsn=postgres.dsn(database))


def unpack(archive: Path, target: Path) -> Path:
    target.mkdir(parents=True)
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")
    return target


def expected(version: Path, kind: str) -> dict[str, Any]:
    """The answers, sessions and head that were recorded with a store."""
    found: dict[str, Any] = json.loads((version / f"{kind}.expected.json").read_text())
    return found


def program(store: Store, *arguments: str | Path, code: int = 0) -> str:
    """The output of ``postroad`` on a store; it must end with this exit code."""
    done = postroad(*arguments, "--data", store.data, environment=store.environment, timeout=300)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextmanager
def server_on(store: Store) -> Iterator[ServerProcess]:
    """A server process on a store, stopped in good order."""
    with ServerProcess(store.data, store.all_settings) as server:
        yield server
        assert server.stop() == 0, server.log


# ---- questions and answers


def ask_everything(url: str, store: Store, sessions: Mapping[str, str]) -> dict[str, Any]:
    """The answers to all questions, by who asks and what."""
    answers: dict[str, Any] = {}
    with httpx2.Client(base_url=url, timeout=60) as client:
        for who, path in questions(sessions):
            key = store.operator_key if who == OPERATOR else key_of(who)
            response = client.get(path, headers={"Authorization": f"Bearer {key}"})
            is_json = "json" in response.headers.get("content-type", "")
            body = without_openings(response.json()) if is_json else response.text
            answers[f"{who} {path}"] = {"status": response.status_code, "body": body}
    invoices = program(store, "billing", "invoices", "--json").splitlines()
    answers["postroad billing invoices --json"] = [json.loads(line) for line in invoices]
    return answers


def questions(sessions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Who asks what: about everything that was recorded, as its owner or the operator."""
    yield from PATHS
    for name, session in sessions.items():
        if name.startswith("batch "):
            yield OPERATOR, f"/v1/batches/{session}"
            yield OPERATOR, f"/v1/batches/{session}/members"
        elif name == "support request":
            yield OPERATOR, f"/v1/support/{session}"
        elif name == "hidden, as the provider sees it":
            yield "Parcels/Dispatch", f"/v1/messages/{session}"
            yield "Parcels/Dispatch", f"/v1/messages/{session}/trace"
        else:
            yield OPERATOR, f"/v1/messages/{session}/trace"
            if not name.startswith(ELSEWHERE):
                yield HARBOR, f"/v1/messages/{session}"
        if name in EXPLAINED:
            yield OPERATOR, f"/v1/messages/{session}/explanation"
    yield "Harbor/Desk", f"/v1/messages/{sessions['request']}/parts/1"
    yield "MyBiz/Purchasing", f"/v1/messages/{sessions['purchase order']}/parts/1"  # it is no longer kept


def without_openings(answer: Any) -> Any:
    """An answer without the moments at which the recording itself was opened, such as when an open batch went on."""
    if isinstance(answer, dict):
        return {name: without_openings(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [without_openings(item) for item in answer]
    is_opening = isinstance(answer, str) and MOMENT.fullmatch(answer) and RECORDED_UNTIL < answer < WAITS_UNTIL
    return OPENED if is_opening else answer


def differences(recorded: Any, today: Any, place: str = "") -> Iterator[str]:
    """What is missing or different today, with its place; fields that are new today do not count."""
    if isinstance(recorded, dict) and isinstance(today, dict):
        for name, value in recorded.items():
            now = name if name in today else FIELDS.get(name, name)
            if now in GROWING and now in today:
                if not value <= today[now]:
                    yield f"{place}/{now} was {value!r} and is only {today[now]!r}"
            elif now in today:
                yield from differences(value, today[now], f"{place}/{now}")
            else:
                yield f"{place}/{now} is missing; it was {value!r}"
    elif isinstance(recorded, list) and isinstance(today, list) and len(recorded) == len(today):
        for number, (before, now) in enumerate(zip(recorded, today, strict=True)):
            yield from differences(before, now, f"{place}/{number}")
    elif recorded != today and not (isinstance(recorded, str) and reworded(recorded) == today):
        yield f"{place} was {recorded!r} and is {today!r}"


def reworded(text: str) -> str:
    """Return what a recorded text reads today, unless it is stored as it was."""
    text = WORDS.get(text, text)
    for recorded, today in PHRASES:
        text = recorded.sub(today, text)
    return text
