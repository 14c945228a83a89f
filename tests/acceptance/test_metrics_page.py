"""The metrics page of a real server: its formats, its token, what it counts, and that it is nowhere else."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.core.metrics.readings import MetricReadings, parse_page
from postroad.core.metrics.table import METRICS
from postroad.core.model.level import NEWEST
from postroad.errors import Refused
from tests.samples.prometheus import ELSEWHERE, run
from tests.samples.served_network import Served, postroad, served
from tests.waiting import eventually

BUYER, SELLER, NOBODY = "MyBiz/Purchasing", "Acme/Supply", "Acme/Nobody"


def fetch(url: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and text of a GET."""
    asked = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, dict(refused.headers), refused.read().decode()


def post_once(network: Served) -> int:
    """Post the same message under the same key; returns the status."""
    headers = {"Idempotency-Key": '"once"', "Content-Type": "application/json"}
    headers["Authorization"] = f"Bearer {network.key(BUYER).read_text().strip()}"
    body = json.dumps(
        {"to": [SELLER], "type": "notification", "documents": [{"text": "first", "contentType": "text/plain"}]}
    ).encode()
    with urllib.request.urlopen(
        urllib.request.Request(f"{network.url}/v1/messages", body, headers), timeout=30
    ) as answer:
        return int(answer.status)


def metrics_url(network: Served) -> str:
    return (network.data / "metrics-url").read_text().strip()


def page(network: Served) -> MetricReadings:
    samples = parse_page(fetch(metrics_url(network))[2])
    return MetricReadings({}, samples, 1.0, 0.0)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A network that has accepted, refused, handed out, returned, and settled messages."""
    with served(tmp_path_factory.mktemp("metrics") / "data") as network:
        network.register(BUYER, SELLER)
        with network.client(BUYER) as buyer, network.client(SELLER) as seller:
            assert [post_once(network), post_once(network)] == [202, 202]
            buyer.post(to=SELLER, document="second", type="notification")
            with pytest.raises(Refused):
                buyer.post(to=NOBODY, document="third")
            first, second = seller.poll(2, wait_s=10)
            seller.acknowledge(first)
            seller.give_back(second, reason="not now")
            [again] = eventually(lambda: seller.poll(1, wait_s=1))
            assert again.attempt == 2
        fetch(f"{network.url}/v1/status", Authorization="Bearer pr_nothing_at_all")
        yield network


@pytest.mark.req("O4")
def test_the_page_counts_what_happened(used: Served) -> None:
    found = page(used)
    assert found.value("postroad_posts_total", outcome="accepted") == 2
    assert found.value("postroad_posts_total", outcome="duplicate") == 1
    assert found.value("postroad_posts_total", outcome="refused") == 1
    assert found.value("postroad_post_refusals_total", code="recipient.unknown") == 1
    assert found.value("postroad_post_seconds_count") == 4
    assert found.value("postroad_deliveries_total") == 2
    assert found.value("postroad_deliveries_ended_total", state="delivered") == 1
    assert found.value("postroad_handed_out_total", mode="poll") == 3
    assert found.value("postroad_redeliveries_total", mode="poll") == 1
    assert found.value("postroad_returned_deliveries_total", how="returned") == 1
    assert found.value("postroad_delivery_seconds_count") == 1
    assert found.value("postroad_authentication_failures_total") >= 1
    assert found.value("postroad_journal_entries_total") == found.value("postroad_journal_head_entry")
    assert found.value("postroad_leader") == 1
    assert found.value("postroad_build_info", level=str(NEWEST)) == 1
    assert found.value("process_resident_memory_bytes") > 10e6


@pytest.mark.req("O4")
def test_gauges_of_the_index_follow(used: Served) -> None:
    def waits() -> bool:
        found = page(used)
        waiting = found.value("postroad_waiting_deliveries") + found.value("postroad_leased_deliveries", mode="poll")
        return (
            waiting == 1
            and found.value("postroad_index_behind_seconds") == 0
            and found.value("postroad_top_waiting_deliveries", service=SELLER) == 1
            and found.value("postroad_oldest_waiting_seconds") > 0
        )

    eventually(waits)  # a gauge that takes too long keeps its last value, and is set by a later page


@pytest.mark.req("O4")
def test_every_declared_metric_is_on_the_page(used: Served) -> None:
    text = fetch(metrics_url(used))[2]
    absent = [one.name for one in METRICS if f"# TYPE {one.full_name} " not in text and one.name not in ELSEWHERE]
    assert absent == [], "no component uses these metrics"


def test_the_page_follows_the_conventions_of_prometheus(used: Served) -> None:
    assert run("promtool", "check", "metrics", stdin=fetch(metrics_url(used))[2]) == ""


def test_open_metrics_is_written_for_those_who_ask(used: Served) -> None:
    status, headers, text = fetch(metrics_url(used), Accept="application/openmetrics-text;version=1.0.0")
    assert (status, headers["content-type"]) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    assert text.endswith("# EOF\n")
    assert fetch(metrics_url(used))[1]["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_the_public_port_has_no_metrics(used: Served) -> None:
    status, _, text = fetch(f"{used.url}/metrics")
    assert status == 404
    assert "postroad_posts_total" not in text


def test_the_listener_has_nothing_else(used: Served) -> None:
    status, _, text = fetch(metrics_url(used).replace("/metrics", "/v1/status"))
    assert (status, text) == (404, "The metrics are at /metrics.\n")


def test_no_label_names_a_party_but_in_the_top_list(used: Served) -> None:
    lines = fetch(metrics_url(used))[2].splitlines()
    named = [line for line in lines if "Acme" in line or "MyBiz" in line]
    assert [line.partition("{")[0] for line in named] == ["postroad_top_waiting_deliveries"] * len(named)
    assert len(lines) < 1_500


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-secret-token\n")
    with served(tmp_path / "data", "--set", f"metrics_token_file={file}") as network:
        url = metrics_url(network)
        assert fetch(url)[0] == 401
        assert fetch(url, Authorization="Bearer another")[0] == 401
        assert fetch(url, Authorization="Bearer a-secret-token")[0] == 200
    assert not (network.data / "metrics-url").exists()


def test_without_an_address_there_is_no_page(tmp_path: Path) -> None:
    with served(tmp_path / "data", "--set", "metrics_listen=") as network:
        assert not (network.data / "metrics-url").exists()
        assert fetch(f"{network.url}/livez")[0] == 200


def test_a_fixed_port_that_is_taken_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = postroad("serve", "--data", tmp_path, "--port", "0", "--set", f"metrics_listen={address}")
    assert done.returncode != 0
    assert (
        f"metrics_listen: {address} cannot be used (address already in use); choose another port" in done.stderr.lower()
    )


def test_an_address_that_is_none_is_an_error(tmp_path: Path) -> None:
    done = postroad("serve", "--data", tmp_path, "--set", "metrics_listen=9470", "--json")
    assert "metrics_listen: must be ADDRESS:PORT, such as 127.0.0.1:9470, not '9470'" in done.stdout + done.stderr


@pytest.mark.req("O4")
def test_nodes_on_postgresql_have_their_own_numbers(tmp_path: Path, postgres_database: str) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    settings = [text for name, value in shared.items() for text in ("--set", f"{name}={value}")]
    with served(tmp_path / "data", *settings) as network:
        network.register(BUYER, SELLER)
        with network.client(BUYER) as buyer, network.client(SELLER) as seller:
            buyer.post(to=SELLER, document="first")
            [first] = seller.poll(1, wait_s=10)
            assert page(network).value("postroad_leased_deliveries", mode="poll") <= 1
            eventually(lambda: page(network).value("postroad_leased_deliveries", mode="poll") == 1)
            seller.acknowledge(first)
        found = page(network)
        assert found.value("postroad_postgres_commit_seconds_count") > 3
        assert found.value("postroad_journal_bytes_total") > 100
        assert found.value("postroad_postgres_unavailable_total") == 0
        assert found.value("postroad_directory_age_seconds") < 60
        eventually(lambda: page(network).value("postroad_leader") == 1)
