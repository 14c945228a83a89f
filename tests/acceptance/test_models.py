"""The dashboard of regions on a real server: imported, published to, asked, changed, exported, and there again after a crash."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroad.client import AsyncClient, Client
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "regions"
TREE = EXAMPLE / "dashboard.yaml"
MODEL = "Acme/Regions"
FIRST, SECOND = ("map-1", "sales-1"), ("map-2", "sales-2")
WAIT_S = 60.0


class Dashboard:
    """The example's network, and everybody in it."""

    def __init__(self, network: Served, keys: Path) -> None:
        self.network = network
        self._keys = keys

    def run(self, *words: str | Path, who: str = "") -> str:
        return succeeded("model", *words, *self._access(who))

    def refused(self, *words: str | Path, who: str = "") -> str:
        done = postroad("model", *words, *self._access(who))
        assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
        return done.stderr

    def _access(self, who: str) -> tuple[str | Path, ...]:
        return ("--data", self.network.data, *(("--key-file", self._keys / f"{who}.key") if who else ()))

    def client(self, who: str) -> Client:
        return Client(self.network.url, key_file=self._keys / f"{who}.key")

    def operator(self) -> Client:
        return Client(self.network.url, key_file=self.network.data / "operator.key")

    def publish(self, who: str, region: str) -> int:
        """How many the model has sent it to."""
        with self.client(who) as client:
            client.post(to=MODEL, topic="region", document=region, type="request")
            [answer] = client.poll(1, wait_s=WAIT_S)
            client.acknowledge(answer)
        return int(answer.properties[0].value)

    def shown(self, *whom: str) -> list[str]:
        """What these have been told since they last looked."""
        found = []
        for who in whom:
            with self.client(who) as client:
                polled = client.poll(10, wait_s=WAIT_S)
                client.acknowledge(*polled)
                found += [one.parts[0].data.decode() for one in polled]
        return found


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("regions")
    shutil.copytree(EXAMPLE, folder / "examples" / "regions")
    with served(folder / "data") as network:
        succeeded("apply", folder / "examples/regions/network.yaml", "--yes", "--make-keys", "--data", network.data)
        yield Dashboard(network, folder / "var" / "regions")


@pytest.fixture(autouse=True)
def as_in_the_file(dashboard: Dashboard) -> None:
    with dashboard.operator() as client:
        client.models.bring(MODEL, yaml.safe_load(TREE.read_text()), prune=True)


@pytest.mark.req("H1", "H2", "H3", "H4")
def test_north_america_is_shown_everywhere_and_then_mexico_on_one_canvas(dashboard: Dashboard) -> None:
    assert dashboard.publish("application", "North America") == 4
    assert dashboard.shown(*FIRST, *SECOND) == ["North America"] * 4
    dashboard.run("attach", MODEL, "Acme/Canvas 2", "--as", "producer", "--at", "canvas-2", who="canvas-2")
    assert dashboard.publish("canvas-2", "Mexico") == 2
    assert dashboard.publish("application", "Canada") == 2
    assert dashboard.shown(*FIRST, *SECOND) == ["Canada", "Canada", "Mexico", "Mexico"]
    dashboard.network.end(signal.SIGKILL)
    dashboard.network.start()
    assert dashboard.publish("canvas-2", "Yucatán") == 2
    assert dashboard.shown(*SECOND) == ["Yucatán", "Yucatán"]
    dashboard.run("detach", MODEL, "Acme/Canvas 2", "--as", "producer", "--at", "canvas-2")
    assert dashboard.publish("application", "World") == 4
    assert dashboard.shown(*FIRST, *SECOND) == ["World"] * 4


@pytest.mark.req("H3")
def test_who_receives_is_answered_before_anything_is_sent(dashboard: Dashboard) -> None:
    with dashboard.operator() as client:
        client.models.attach(MODEL, "Acme/Canvas 2", side="producer", node="canvas-2")
    told = dashboard.run("who-receives", MODEL, "region", "--from", "Acme/Application")
    assert "2 receivers" in told
    assert "application / canvas-1 / widget-1" in told
    assert "not below application / canvas-2: Acme/Canvas 2 produces region there" in told
    [found] = json_lines(dashboard.run("who-receives", MODEL, "region", "--at", "canvas-2", "--json"))
    assert [one["service"] for one in found["items"]] == ["Acme/Map 2", "Acme/Sales 2"]
    assert "no node 'nowhere'" in dashboard.refused("who-receives", MODEL, "region", "--at", "nowhere")


@pytest.mark.req("H1")
def test_what_is_exported_is_what_was_imported(dashboard: Dashboard, tmp_path: Path) -> None:
    assert dashboard.run("export", MODEL) == TREE.read_text()
    [again] = json_lines(dashboard.run("import", MODEL, TREE, "--json"))
    assert again == {"sent": 12, "saved": 0, "removed": 0}
    file = tmp_path / "tree.json"
    file.write_text(dashboard.run("export", MODEL, "--json"))
    assert "0 saved" in dashboard.run("import", MODEL, file)


@pytest.mark.req("H1", "H4", "H5")
def test_a_tree_is_drawn_and_changed_node_by_node(dashboard: Dashboard) -> None:
    dashboard.run("add", MODEL, "widget-5", "--under", "canvas-1", "--topic", "region")
    dashboard.run("add", MODEL, "widget-5", "--topic", "region", "--topic", "zoom")
    dashboard.run("move", MODEL, "widget-5", "canvas-2")
    dashboard.run("attach", MODEL, "Acme/Map 1", "--as", "consumer", "--at", "widget-5", "--topic", "zoom")
    dashboard.run("topic", MODEL, "zoom", "--strategy", "ancestors", "--within", "1")
    drawn = dashboard.run("show", MODEL)
    assert "└── widget-5  region, zoom\n│           └── ◀ consumer Acme/Map 1  zoom\n" in drawn
    assert "zoom: to ancestors, within 1 level" in drawn
    assert "… and 6 more nodes" in dashboard.run("show", MODEL, "--most", "2")
    assert "move them away" in dashboard.refused("remove", MODEL, "canvas-2")
    dashboard.run("remove", MODEL, "canvas-2", "--with-descendants")
    assert dashboard.publish("application", "Europe") == 2
    assert dashboard.shown(*FIRST) == ["Europe", "Europe"]


def test_a_file_is_checked_whole_before_any_of_it_is_sent(dashboard: Dashboard, tmp_path: Path) -> None:
    tree: Any = yaml.safe_load(TREE.read_text())
    tree["root"]["nodes"][1]["nodes"][1]["tag"] = "widget-1"
    file = tmp_path / "twice.yaml"
    file.write_text(yaml.safe_dump(tree))
    assert "already has a node 'widget-1'" in dashboard.refused("import", MODEL, file)
    file.write_text(TREE.read_text().replace("name: Regions", "name: Other"))
    assert "for model 'Other', not 'Regions'" in dashboard.refused("import", MODEL, file)
    assert dashboard.run("export", MODEL) == TREE.read_text()


@pytest.mark.req("H6")
def test_a_large_tree_comes_in_pieces_and_an_import_can_be_repeated(dashboard: Dashboard, tmp_path: Path) -> None:
    nodes: list[dict[str, Any]] = [{"tag": f"node {number}", "topics": ["region"]} for number in range(6_000)]
    for number, node in enumerate(nodes[1:]):
        nodes[number // 10].setdefault("nodes", []).append(node)
    nodes[0]["producers"], nodes[-1]["consumers"] = ["Acme/Application"], ["Acme/Map 1"]
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"name": "Regions", "root": nodes[0]}))
    dashboard.run("remove", MODEL, "--all")
    [first] = json_lines(dashboard.run("import", MODEL, file, "--json"))
    assert (first["saved"], first["sent"]) == (6_002, 6_002)
    [second] = json_lines(dashboard.run("import", MODEL, file, "--json"))
    assert second["saved"] == 0
    assert dashboard.publish("application", "Far away") == 1
    assert dashboard.shown("map-1") == ["Far away"]
    dashboard.run("remove", MODEL, "--all")


async def test_the_client_for_asyncio_says_the_same(dashboard: Dashboard) -> None:
    key = (dashboard.network.data / "operator.key").read_text().strip()
    async with AsyncClient(dashboard.network.url, key) as client:
        models = client.models
        assert (await models.model(MODEL))["nodes"] == 7
        assert await models.document(MODEL) == yaml.safe_load(TREE.read_text())
        attached = await models.attach(MODEL, "Acme/Canvas 2", side="consumer", node="canvas-2", id="mine")
        assert attached["id"] == "mine"
        assert "mine" in [one["id"] for one in await models.attachments(MODEL)]
        assert (await models.receivers(MODEL, "region", node="canvas-2"))["total"] == 3
        assert await models.absent(MODEL, yaml.safe_load(TREE.read_text())) == ([], ["mine"], [])
        assert (await models.bring(MODEL, yaml.safe_load(TREE.read_text()), prune=True))["removed"] == 1
        assert (await models.change(MODEL, {"remove": {"nodes": ["widget-1"]}}))["removed"] == 2
        await models.attach(MODEL, "Acme/Canvas 2", side="consumer", node="canvas-2", id="mine")
        await models.detach(MODEL, "mine")
        assert (await models.node(MODEL, "widget-2"))["path"] == ["application", "canvas-1", "widget-2"]
        assert [one["tag"] for one in await models.nodes(MODEL, 2)] == ["application", "canvas-1"]
        await models.remove(MODEL)
        assert await models.document(MODEL) == {}
