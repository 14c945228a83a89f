"""The two sides of a comparison: how a scenario is driven against our network and against the peer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks.generator import Load, compile_generator, generate, options
from benchmarks.measuring import Measurement, measure
from benchmarks.network import NetworkServer
from benchmarks.payload import BULK, TOKEN_MARKER, acknowledge_head, poll_request, post_request, purchase_order
from benchmarks.processes import cpu_s_at_rest
from benchmarks.rabbitmq import RabbitMq
from benchmarks.scenarios import BULK_POLLERS, PEER_CONSUMERS, Scenario

MAX_POLL = 100
POLL_WAIT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """How long one round is, in milliseconds."""

    warmup_ms: int
    measure_ms: int

    def options(self) -> dict[str, object]:
        return {"warmup_ms": self.warmup_ms, "measure_ms": self.measure_ms}


class OurSide:
    """Scenarios against a running network; what a scenario leaves in the mailbox is fetched afterwards, unmeasured."""

    def __init__(self, network: NetworkServer, scenario: Scenario, folder: Path) -> None:
        self._network = network
        self._scenario = scenario
        self._program = compile_generator("http_load", folder)
        self._requests = {
            "post": post_request(scenario.form, network.sender_key),
            "poll": poll_request(network.receiver_key, MAX_POLL, POLL_WAIT_S),
            "drain": poll_request(network.receiver_key, MAX_POLL, 0.0),
            "ack": acknowledge_head(network.receiver_key),
        }
        self._files = {name: folder / f"{name}.request" for name in self._requests}
        for name, request in self._requests.items():
            self._files[name].write_bytes(request)

    def load_options(self, duration: Duration) -> dict[str, object]:
        return self._common() | duration.options() | {
            "connections": self._scenario.connections,
            "post": self._files["post"],
            "messages": self._scenario.form.messages,
            "consumers": self._scenario.consumers,
            "poll": self._files["poll"],
        }  # fmt: skip

    def round(self, duration: Duration) -> Measurement:
        measured = measure(self._program, self.load_options(duration), self._network.process_ids)
        if not self._scenario.consumes:
            self.drain()
        cpu_s_at_rest(self._network.process_ids)  # or the peer's round would pay for what is left to do
        return measured

    def load(self, duration: Duration, at_start: Callable[[], None]) -> Load:
        """The load alone, for a profiler."""
        return generate(self._program, self.load_options(duration), at_start)

    def drain(self) -> None:
        generate(
            self._program,
            self._common() | {"consumers": BULK_POLLERS, "drain": 1, "poll": self._files["drain"]},
            lambda: None,
        )

    def _common(self) -> dict[str, object]:
        tls = int(self._scenario.tls)
        return {"port": self._network.port, "tls": tls, "ack": self._files["ack"], "token": TOKEN_MARKER}


class PeerSide:
    """The same scenarios against RabbitMQ, each round with a queue of its own that is deleted afterwards."""

    def __init__(self, rabbitmq: RabbitMq, scenario: Scenario, folder: Path) -> None:
        self._rabbitmq = rabbitmq
        self._scenario = scenario
        self._program = compile_generator("amqp_load", folder)
        self._body = folder / "body"
        self._body.write_text(purchase_order())
        self._numbers = count(1)

    def round(self, duration: Duration) -> Measurement:
        queue = f"{self._scenario.name}-{next(self._numbers)}"
        load = self._common(queue) | duration.options() | {
            "connections": self._scenario.connections,
            "window": BULK if self._scenario.form.messages > 1 else 1,
            "body": self._body,
            "consumers": PEER_CONSUMERS if self._scenario.consumes else 0,
        }  # fmt: skip
        measured = measure(self._program, load, self._rabbitmq.process_ids)
        subprocess.run([bytes(self._program), *options(self._common(queue) | {"delete": 1})], check=True)
        cpu_s_at_rest(self._rabbitmq.process_ids)
        return measured

    def _common(self, queue: str) -> dict[str, object]:
        port = self._rabbitmq.tls_port if self._scenario.tls else self._rabbitmq.port
        return {"port": port, "tls": int(self._scenario.tls), "queue": queue}
