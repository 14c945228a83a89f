"""Traces of a shared network: one node exports, and another one continues when it is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.client import Access, Client
from postroad.testing.otlp_receiver import otlp_receiver
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER
from tests.waiting import eventually

SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "traces_share": 1}


@pytest.mark.req("O4")
async def test_another_node_continues_the_export(tmp_path: Path, postgres_database: str) -> None:
    with otlp_receiver() as collector:
        settings = {**SHARED, "postgres": postgres_database, "traces_to": collector.url}
        nodes = [ServerProcess(tmp_path / name, settings) for name in ("one", "two")]
        keys = await enroll(nodes[0], SENDER, RECEIVER)
        with nodes[0], nodes[1]:
            first = send(nodes[0], keys)
            eventually(lambda: first in {span.trace_id for span in collector.spans})
            nodes[0].kill()
            second = send(nodes[1], keys)
            eventually(lambda: second in {span.trace_id for span in collector.spans})
        ids = [span.span_id for span in collector.spans]
        assert len(ids) == len(set(ids)) == 6, "no span was exported by both"


def send(node: ServerProcess, keys: dict[str, str]) -> str:
    with Client(access=Access.with_key(node.url, keys[SENDER])) as sender:
        posted = sender.post(to=RECEIVER, document="x")
    with Client(access=Access.with_key(node.url, keys[RECEIVER])) as receiver:
        receiver.acknowledge(*receiver.poll(10, wait_s=30))
    return posted.transaction
