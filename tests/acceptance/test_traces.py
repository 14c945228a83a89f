"""Traces of real servers: the purchase order as golden spans, restarts, two nodes, and a collector that is away."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from postroad.testing.otlp_receiver import OtlpReceiver, otlp_receiver
from tests.acceptance.purchase_order import ACME, MYBIZ, ORDER, SPAMCO, arrived, scenario
from tests.samples.served_network import Served, json_lines, served, succeeded
from tests.samples.traced import CONTEXT, SPAN, TRACE, draw
from tests.waiting import eventually

pytestmark = pytest.mark.req("O4")

GOLDEN = Path(__file__).with_name("purchase_order_spans.txt")
BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"


def settings(collector: OtlpReceiver, *more: str) -> list[str]:
    changes = (f"traces_to={collector.url}", "traces_share=1", "traces_per_s=100000", *more)
    return [word for change in changes for word in ("--set", change)]


def test_the_purchase_order_as_spans(tmp_path: Path) -> None:
    """``python -m tests.acceptance.test_traces`` writes the golden spans again."""
    assert purchase_order_spans(tmp_path) == GOLDEN.read_text()


def purchase_order_spans(folder: Path) -> str:
    with otlp_receiver() as collector, scenario(folder, *settings(collector)) as network:
        with network.client(MYBIZ) as mybiz, network.client(ACME) as acme, network.client(SPAMCO) as spamco:
            ordered = mybiz.post(to=ACME, type="request", topic="purchase-order", document=ORDER, traceparent=CONTEXT)
            [request] = acme.poll(1, wait_s=30)
            assert request.traceparent == CONTEXT
            acme.reply(request, "<PurchaseOrderConfirmation/>")
            arrived(mybiz, ordered.transaction)
            unwelcome = spamco.post(to=ACME, type="request", topic="purchase-order", document=ORDER)
            arrived(spamco, unwelcome.transaction)
        wanted = (TRACE, unwelcome.transaction)
        drawn = [_drawn_when_complete(collector, trace_id) for trace_id in wanted]
        [root] = [span for span in collector.spans if span.trace_id == TRACE and span.name == f"post {ACME}"]
        assert root.parent_id == SPAN
        return "\n\n".join(drawn) + "\n"


def _drawn_when_complete(collector: OtlpReceiver, trace_id: str) -> str:
    def spans() -> str:
        found = [span for span in collector.spans if span.trace_id == trace_id]
        return draw(found) if any(span.name.startswith("settle") for span in found) else ""

    return eventually(spans, why=f"no spans of {trace_id}")


def test_a_restart_loses_and_repeats_no_trace(tmp_path: Path) -> None:
    with otlp_receiver() as collector:
        sessions: list[str] = []
        for _ in range(2):
            with served(tmp_path / "data", *settings(collector)) as network:
                if not sessions:
                    network.register(BUYER, SELLER)
                sessions.append(send(network))
                eventually(lambda: {span.trace_id for span in collector.spans} >= set(sessions[:-1]))
        with served(tmp_path / "data", *settings(collector)) as network:  # what the second did not export any more
            eventually(lambda: {span.trace_id for span in collector.spans} == set(sessions))
        ids = [span.span_id for span in collector.spans]
        assert len(set(ids)) == 6
        assert all(span.attributes["messaging.system"] == "postroad" for span in collector.spans)


def send(network: Served) -> str:
    with network.client(BUYER) as buyer, network.client(SELLER) as seller:
        posted = buyer.post(to=SELLER, document="x")
        seller.acknowledge(*seller.poll(10, wait_s=30))
    return posted.transaction


def test_a_journey_that_began_before_a_restart_is_whole(tmp_path: Path) -> None:
    with otlp_receiver() as collector:
        with served(tmp_path / "data", *settings(collector)) as network:
            network.register(BUYER, SELLER)
            with network.client(BUYER) as buyer, network.client(SELLER) as seller:
                buyer.post(to=SELLER, document="x")
                [delivered] = seller.poll(1, wait_s=30)
        with served(tmp_path / "data", *settings(collector)) as network, network.client(SELLER) as seller:
            seller.acknowledge(delivered)
            drawn = eventually(lambda: draw(collector.spans))
    assert drawn == "post Acme/Supply\n  deliver Acme/Supply delivered [leased]\n    settle Acme/Supply"


def test_headers_of_the_collector_come_from_a_private_file(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.write_text("Authorization: Bearer collector-secret\n\nX-Tenant: a\n")
    with otlp_receiver() as collector:
        more = f"traces_headers_file={headers}"
        with served(tmp_path / "data", *settings(collector, more)) as network:
            network.register(BUYER, SELLER)
            send(network)
            eventually(lambda: collector.requests)
            listed = json_lines(succeeded("followers", "list", "--json", "--data", network.data))
            assert "traces" in [one["name"] for one in listed]
        assert collector.headers[0]["authorization"] == "Bearer collector-secret"
        assert collector.headers[0]["x-tenant"] == "a"
        assert "collector-secret" not in (tmp_path / "data.log").read_text()


def test_the_metrics_page_counts_spans_across_restarts_of_the_process(tmp_path: Path) -> None:
    with otlp_receiver() as collector, served(tmp_path / "data", *settings(collector)) as network:
        network.register(BUYER, SELLER)
        for spans in (3, 6):
            send(network)
            eventually(lambda: network.metrics().value("postroad_trace_spans_total", result="exported") >= spans)  # noqa: B023 - called before the next one
            kill_tracing_process(network)
        eventually(lambda: network.metrics().value("postroad_traces_behind_seconds") == 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for child processes in /proc")
def test_the_tracing_process_is_started_again_when_it_dies(tmp_path: Path) -> None:
    with otlp_receiver() as collector, served(tmp_path / "data", *settings(collector)) as network:
        network.register(BUYER, SELLER)
        first = send(network)
        eventually(lambda: first in {span.trace_id for span in collector.spans})
        kill_tracing_process(network)
        second = send(network)
        eventually(lambda: second in {span.trace_id for span in collector.spans})


def kill_tracing_process(network: Served) -> None:
    assert network.process is not None
    children = Path(f"/proc/{network.process.pid}/task/{network.process.pid}/children").read_text().split()
    [pid] = [int(pid) for pid in children if b"postroad.adapters.tracing" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(purchase_order_spans(Path(folder)))
