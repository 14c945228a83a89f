"""A batcher plug-in as a user installs it: a package beside postroad, named by a send port, over a kill of the server."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from postroad.core.model.message import Message, Part, Recipient
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.waiting import eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "truck-batcher"
PORT = {
    "sendsTo": "Acme/edi", "standard": "x12", "sender": "MYBIZ", "receiver": "ACME",
    "batcher": "truck", "batcherSettings": {"pallets": "3", "leavesAfterMinutes": "90"},
}  # fmt: skip


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example package as an installer lays it down."""
    site = tmp_path / "site"
    described = site / "postroad_truck_batcher-1.0.dist-info"
    described.mkdir(parents=True)
    shutil.copy(EXAMPLE / "truck_batcher.py", site)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: postroad-truck-batcher\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[postroad.batchers]\ntruck = truck_batcher:TRUCK\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))


def apply_port(network: Served, **changed: Any) -> tuple[int, str]:
    batcher = {"hosted": "batcher", "batching": PORT | changed}
    file = network.data.parent / "port.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"MyBiz": {"services": {"to-acme": batcher}}}}))
    done = postroad("apply", file, "--yes", "--data", network.data)
    return done.returncode, done.stdout + done.stderr


def post(network: Served, number: int, kind: str) -> str:
    data = f"ST*{kind}*{number:04d}~BEG*00*SA*PO-{number}**20261116~SE*3*{number:04d}~".encode()
    part = Part(id="1", content_type="application/edi-x12", data=data)
    with network.client("MyBiz/erp") as erp:
        return erp.post_message(Message(to=(Recipient("MyBiz/to-acme"),), topic=kind, parts=(part,))).session


@pytest.mark.req("B9", "B5")
@pytest.mark.usefixtures("installed")
def test_an_installed_plug_in_completes_a_batch_over_a_kill_of_the_server(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        network.register("MyBiz/erp", "Acme/edi")
        assert apply_port(network)[0] == 0
        session = post(network, 1, "850")
        eventually(lambda: "in batch" in succeeded("trace", session, "--data", network.data))
        network.end(signal.SIGKILL)
        network.start()
        post(network, 2, "856")  # takes two pallets
        with network.client("Acme/edi") as edi:
            [batch] = edi.poll(wait_s=60)
        data = batch.parts[0].data
        assert (data.count(b"~ST*"), data.count(b"ST*850*0001~"), data.count(b"ST*856*0002~")) == (2, 1, 1)
        [listed] = json_lines(succeeded("batches", "MyBiz/to-acme", "--state", "all", "--json", "--data", network.data))
        shown = succeeded("batch", "show", listed["id"], "--data", network.data)
        assert "truck: 3 of 3 pallets" in shown


@pytest.mark.req("B9")
@pytest.mark.usefixtures("installed")
def test_settings_that_the_plug_in_refuses_and_unknown_plug_ins_are_not_saved(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        network.register("MyBiz/erp", "Acme/edi")
        code, said = apply_port(network, batcherSettings={"pallets": "many"})
        assert (code != 0, "pallets is 'many'; use a whole number" in said) == (True, True)
        code, said = apply_port(network, batcher="lorry")
        assert (code != 0, "lorry" in said) == (True, True)
