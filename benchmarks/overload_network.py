"""A network under open-loop load: one organization floods it while a neighbour posts, polls and acknowledges.

Each level has a fresh server, so that levels can be compared. Both loads begin together, and the server's memory is read
while they run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from benchmarks.generator import compile_generator, generate, run_generator
from benchmarks.isolation_fan_out import MIB, Memory
from benchmarks.network import NetworkServer
from benchmarks.payload import (
    RECEIVER,
    TOKEN_MARKER,
    acknowledge_head,
    json_post_request,
    poll_request,
)
from postroad.core.identity import api_key

NEIGHBOUR, NEIGHBOUR_POSTS, NEIGHBOUR_POLLS = "Village", "Shop", "Kitchen"
CONNECTIONS, PIPELINE, BURST = 128, 64, 8  # of the flood; a burst is written at once
NEIGHBOUR_CONNECTIONS, NEIGHBOUR_CONSUMERS = 8, 2
NEIGHBOUR_SHARE = 0.1  # of the capacity
CAPACITY_CONNECTIONS = 64
PATIENCE_MS = 1_000
WARMUP_MS = 1_000
MEMORY_EVERY_S = 0.1


class OpenLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What ``open_load`` reports; rates and percentiles are of the measured time, counts of the whole run."""

    offered: int
    unsent: int  # could not be sent, because too many posts were without an answer
    accepted: int
    refused: int
    without_retry_after: int
    accepted_per_s: float
    refused_per_s: float
    received: int
    polls_refused: int
    acks_refused: int
    client_cpu_s: float
    accepted_p50_us: int
    accepted_p99_us: int
    refused_p50_us: int
    refused_p99_us: int
    ack_p50_us: int
    ack_p99_us: int
    end_to_end_p50_us: int
    end_to_end_p99_us: int
    codes: dict[str, int]


class Cores(msgspec.Struct, frozen=True, kw_only=True):
    """Processor time used per second: by the server and its children, by both load generators, and by other programs."""

    server: float
    generator: float
    foreign: float


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One level of load: the offered rate as a multiple of the capacity, and what both organizations experienced."""

    times: float
    offered_per_s: float
    flood: OpenLoad
    neighbour: OpenLoad
    memory_mib: float  # the server's resident memory, at most
    cores: Cores


class OverloadNetwork:
    """A server with four services: a flooding sender and its receiver, and a neighbour's sender and receiver."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._keys = {
            name: api_key.make(os.urandom(api_key.RANDOM_BYTES)).text for name in (NEIGHBOUR_POSTS, NEIGHBOUR_POLLS)
        }
        services = {name: self._service(folder, name) for name in self._keys}
        self.server = NetworkServer(
            folder / "network", settings=settings, organizations={NEIGHBOUR: {"services": services}}
        )
        self._folder = folder
        self._closed, self._open = (compile_generator(name, folder) for name in ("http_load", "open_load"))

    def _service(self, folder: Path, name: str) -> dict[str, object]:
        file = folder / f"{name}.key"
        file.write_text(self._keys[name])
        return {"visibility": "public", "credentials": [{"label": "benchmark", "keyFrom": f"file:{file}"}]}

    def measure_capacity(self, seconds: float) -> float:
        """Return the posts per second that clients get which wait for each answer."""
        load = generate(
            self._closed,
            {
                "port": self.server.port,
                "connections": CAPACITY_CONNECTIONS,
                "post": self._write("post", json_post_request(self.server.sender_key, RECEIVER)),
                "warmup_ms": WARMUP_MS,
                "measure_ms": int(seconds * 1000),
            },
            lambda: None,
        )
        return load.posted_per_s

    def offer(self, rate: float, neighbour_rate: float, seconds: float) -> tuple[OpenLoad, OpenLoad, float]:
        """Offer both rates at the same time; returns both reports, and the most memory of the server in MiB."""
        begin, ended = threading.Barrier(2), threading.Event()
        with ThreadPoolExecutor(max_workers=3) as threads:
            memory = threads.submit(self._most_memory, ended)
            flood = threads.submit(self._generate, self._flood(rate, seconds), begin)
            neighbour = threads.submit(self._generate, self._neighbour(neighbour_rate, seconds), begin)
            for load in (flood, neighbour):
                load.add_done_callback(lambda done: begin.abort() if done.exception() else None)
            try:
                reports = flood.result(), neighbour.result()
            finally:
                ended.set()
        return *reports, memory.result()

    def _generate(self, options: Mapping[str, object], begin: threading.Barrier) -> OpenLoad:
        def wait_for_the_other() -> None:
            begin.wait()

        return run_generator(self._open, options, wait_for_the_other, OpenLoad)

    def _most_memory(self, ended: threading.Event) -> float:
        most = 0
        while not ended.wait(MEMORY_EVERY_S):
            most = max(most, Memory.of(self.server.server_process_id).now)
        return most / MIB

    def _flood(self, rate: float, seconds: float) -> dict[str, object]:
        return self._common(rate, seconds) | {
            "connections": CONNECTIONS,
            "pipeline": PIPELINE,
            "burst": BURST,
            "post": self._write("post", json_post_request(self.server.sender_key, RECEIVER)),
        }

    def _neighbour(self, rate: float, seconds: float) -> dict[str, object]:
        polls = self._keys[NEIGHBOUR_POLLS]
        post = json_post_request(self._keys[NEIGHBOUR_POSTS], f"{NEIGHBOUR}/{NEIGHBOUR_POLLS}")
        return self._common(rate, seconds) | {
            "connections": NEIGHBOUR_CONNECTIONS,
            "pipeline": PIPELINE,
            "post": self._write("neighbour-post", post),
            "consumers": NEIGHBOUR_CONSUMERS,
            "poll": self._write("neighbour-poll", poll_request(polls, 100, 1.0)),
            "ack": self._write("neighbour-ack", acknowledge_head(polls)),
            "token": TOKEN_MARKER,
        }

    def _common(self, rate: float, seconds: float) -> dict[str, object]:
        return {
            "port": self.server.port,
            "rate": max(1, round(rate)),
            "patience_ms": PATIENCE_MS,
            "warmup_ms": WARMUP_MS,
            "measure_ms": int(seconds * 1000),
        }

    def _write(self, name: str, request: bytes) -> Path:
        file = self._folder / f"{name}.request"
        file.write_bytes(request)
        return file
