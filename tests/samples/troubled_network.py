"""Real networks in real trouble, in an operator's folder: each trouble makes one alert fire until it is cured.

A trouble is a context manager. It starts the network with ``postroad serve`` in the operator's shell, brings it into trouble, and
yields the cure: what others than the operator do, such as the partner that starts its server again.
"""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.adapters.journal.backup.status import note_success, read_status
from postroad.client import Client
from postroad.client.consumer import Reply
from postroad.core.model.message import Status
from tests.samples.live_alerts import find_firing, guessing, repeating
from tests.samples.push_receiver import Answer, Receiver, receiver
from tests.samples.shell import Shell
from tests.waiting import eventually

Cure = Callable[[], None]
REFUSED = Answer(status=422, body=b"the sender ID is unknown")
AWAY = Answer(status=503)
STOP = "kill $server; wait $server"
ORDER = b"ST*850*0001~BEG*00*SA*PO-1**20261116~PO1*1*2*EA*9.25~SE*4*0001~"


@dataclass(frozen=True, kw_only=True)
class OperatorNetwork:
    """The network of an operator, who types commands in a shell."""

    folder: Path
    shell: Shell
    port: int

    @property
    def data(self) -> Path:
        return self.folder / "var" / "postroad"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, command: str) -> str:
        code, output = self.shell.run(command)
        assert code == 0, f"$ {command}\n{output}"
        return output

    def serve(self, **settings: object) -> None:
        """Start the server with settings that a later start in this shell does not have."""
        variables = "".join(f"POSTROAD_{name.upper()}={value} " for name, value in settings.items())
        self.run(f"{variables}postroad serve >server.log 2>&1 & server=$!")
        self.run(f"curl -s --retry 60 --retry-delay 1 --retry-connrefused {self.url}/readyz")

    def apply(self, **organizations: Mapping[str, Any]) -> None:
        """Make services with a key each, which is in ``ORGANIZATION-SERVICE.key``."""
        for organization, services in organizations.items():
            for service, profile in services.items():
                profile["credentials"] = [{"label": "runbook", "keyFrom": f"file:{organization}-{service}.key"}]
        document = {name: {"services": services} for name, services in organizations.items()}
        (self.folder / "network.yaml").write_text(json.dumps({"postroad": 1, "organizations": document}))
        self.run("postroad apply network.yaml --yes --make-keys")

    def key(self, address: str) -> Path:
        return self.folder / f"{address.replace('/', '-')}.key"

    def client(self, address: str) -> Client:
        return Client(self.url, key_file=str(self.key(address)))

    def firing(self, seconds: float = 0.5) -> list[str]:
        return find_firing(self.data, "--seconds", str(seconds))


Trouble = Callable[[OperatorNetwork], AbstractContextManager[Cure]]


def nothing() -> None:
    """The cure is on the page."""


@contextmanager
def someone_guesses(network: OperatorNetwork) -> Iterator[Cure]:
    network.serve()
    with guessing(network.url) as end:
        yield end


@contextmanager
def the_server_is_killed(network: OperatorNetwork) -> Iterator[Cure]:
    network.serve()
    network.run("kill -9 $server; wait $server || true")
    yield nothing


@contextmanager
def the_disk_is_nearly_full(network: OperatorNetwork) -> Iterator[Cure]:
    """The reserve is more than half of what is free; with the usual reserve there is room again."""
    network.serve(least_free_bytes=int(shutil.disk_usage(network.folder).free * 0.7))
    yield nothing


@contextmanager
def the_disk_is_full(network: OperatorNetwork) -> Iterator[Cure]:
    """Less is free than the reserve, so posts are refused, until the disk is enlarged: here the usual reserve is less."""
    network.serve()
    network.apply(MyBiz={"Purchasing": {}}, Acme={"Supply": {"visibility": "public"}})
    network.run(STOP)
    network.serve(least_free_bytes=1 << 60)

    def enlarge() -> None:
        end()
        network.run(STOP)
        network.serve()

    with repeating(lambda: _post_refused(network)) as end:
        yield enlarge


def _post_refused(network: OperatorNetwork) -> None:
    header = {"Authorization": f"Bearer {network.key('MyBiz/Purchasing').read_text().strip()}"}
    header["Content-Type"] = "application/json"
    body = json.dumps({"to": ["Acme/Supply"], "documents": [{"text": "an order"}]}).encode()
    with pytest.raises(urllib.error.HTTPError, match="507"):
        urllib.request.urlopen(urllib.request.Request(f"{network.url}/v1/messages", body, header), timeout=30)


@contextmanager
def the_backups_stopped(network: OperatorNetwork) -> Iterator[Cure]:
    """The last backup and the last verification were a month ago, as far as the network knows."""
    network.serve()
    network.run("postroad backup copy --secrets plain && postroad backup verify copy")
    month_ago = time.time() - 30 * 86_400
    known = read_status(network.data)
    assert known.backup is not None
    assert known.verify is not None
    note_success(network.data, backup=replace(known.backup, at=month_ago), verify=replace(known.verify, at=month_ago))
    yield nothing


@contextmanager
def an_in_transit_service_fails(network: OperatorNetwork) -> Iterator[Cure]:
    """Every message that passes Stamps/Stamper becomes a dead letter."""
    network.serve()
    public = {"visibility": "public"}
    network.apply(MyBiz={"Purchasing": {}}, Acme={"Supply": {**public}}, Stamps={"Stamper": {**public}})
    with network.client("MyBiz/Purchasing") as buyer, network.client("Stamps/Stamper") as stamper:

        def fail() -> None:
            buyer.post(to="Acme/Supply", route=["Stamps/Stamper"], document="an order", topic="orders")
            for order in stamper.poll(10, wait_s=5):
                stamper.reply(order, Reply(status=Status("no-ink", "the pad is dry")))

        with repeating(fail) as end:
            yield end


@contextmanager
def receivers_are_away(network: OperatorNetwork) -> Iterator[Cure]:
    """The servers of all services answer 503; then they work again."""
    network.serve(push_allow_private="127.0.0.0/8")
    with ExitStack() as receivers:
        names = ["Supply", "Returns"]
        servers = [receivers.enter_context(receiver()) for _ in names]
        profiles = {name: _pushed_to(server) for name, server in zip(names, servers, strict=True)}
        network.apply(MyBiz={"Purchasing": {}}, Acme=profiles)
        for server in servers:
            server.answers["/in"] = lambda pushed: AWAY
        buyer = receivers.enter_context(network.client("MyBiz/Purchasing"))
        waiting = cycle([(f"Acme/{name}", receivers.enter_context(network.client(f"Acme/{name}"))) for name in names])

        def post_and_try() -> None:
            """Pushing pauses after five failures; the receivers try whether it works again."""
            address, seller = next(waiting)
            buyer.post(to=address, document="an order")
            seller.change("POST", f"/v1/services/{address}/push/try", {})

        with repeating(post_and_try) as end:

            def cure() -> None:
                end()
                for server in servers:
                    server.answers.clear()

            yield cure


def _pushed_to(server: Receiver, tries: int = 9) -> dict[str, Any]:
    push = {"url": server.url("/in"), "authentication": "none", "tries": tries}
    return {"visibility": "public", "delivery": "push", "push": push}


@contextmanager
def a_partner_refuses_a_batch(network: OperatorNetwork) -> Iterator[Cure]:
    """The partner does not know the sender ID of an interchange, until it has been told."""
    network.serve(push_allow_private="127.0.0.0/8")
    batching = {"sendsTo": "Acme/edi", "standard": "x12", "sender": "MYBIZ", "receiver": "ACME", "count": 1}
    with receiver() as partner:
        partner.answers["/in"] = lambda pushed: REFUSED
        network.apply(
            MyBiz={"Purchasing": {}, "to-acme": {"hosted": "batcher", "batching": batching}},
            Acme={"edi": _pushed_to(partner, tries=1)},
        )
        with network.client("MyBiz/Purchasing") as buyer:
            buyer.post(to="MyBiz/to-acme", document=ORDER)
        eventually(lambda: partner.at("/in"))
        yield partner.answers.clear


TROUBLES: Mapping[str, Trouble] = {
    "PostroadDown": the_server_is_killed,
    "PostroadDiskLow": the_disk_is_nearly_full,
    "PostroadRefusesPosts": the_disk_is_full,
    "PostroadBackupOld": the_backups_stopped,
    "PostroadVerifyOld": the_backups_stopped,
    "PostroadDeadLetters": an_in_transit_service_fails,
    "PostroadPushFailing": receivers_are_away,
    "PostroadBatchSuspended": a_partner_refuses_a_batch,
    "PostroadGuessing": someone_guesses,
}
