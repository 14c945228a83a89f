"""The same commands on a real cluster, whose workers get the package from the driver, and lose one in the middle of a job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from postroad.bootstrap.stores import JOURNAL_FOLDER
from postroad.warehouse.bulk.job import run_locally
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import read_directories
from postroad.warehouse.bulk.read.messages import ArchiveDefaults
from postroad.warehouse.bulk.routing import RouteOperation
from tests.samples.spark import QUICK_START
from tests.waiting import eventually
from tests.warehouse.pipeline.landed import events, landed, made_up_journal
from tests.warehouse.pipeline.spark_cluster import SparkCluster

POSTROAD = (sys.executable, "-c", "from postroad.cli.main import main; main()")
JOB_S = 240.0
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds Spark's processes by /proc, which only Linux has"),
]  # fmt: skip


@pytest.mark.req("P1")
def test_a_cluster_lands_the_same_rows_though_an_executor_is_killed(tmp_path: Path) -> None:
    source = made_up_journal(tmp_path / "data" / JOURNAL_FOLDER, messages=8_000)
    tables = tmp_path / "data" / "warehouse"
    with SparkCluster(tmp_path / "cluster") as cluster:
        job = _start(cluster.master, "pipeline", "run", "--log-only", "--json", "--data", str(tmp_path / "data"))
        try:
            _wait_until_tasks_write(job, tables)
            killed = cluster.executors()[0]
            os.kill(killed, signal.SIGKILL)
            said, complaints = job.communicate(timeout=JOB_S)
        finally:
            job.kill()
        routed = _routed_by(cluster, tmp_path)
    assert job.returncode == 0, complaints
    assert json.loads(said)["landed"]["upto"] == source.head()
    assert landed(tables).equals(events(source))
    assert routed == _routed_here(tmp_path)


def _routed_by(cluster: SparkCluster, folder: Path) -> list[dict[str, Any]]:
    """The journal as an archive, routed by the workers of the cluster, which write what they found themselves."""
    archive, out = str(folder / "data" / JOURNAL_FOLDER), folder / "routed"
    job = _start(cluster.master, "bulk", "route", "--in", archive, "--out", str(out), "--json")
    _, complaints = job.communicate(timeout=JOB_S)
    assert job.returncode == 0, complaints
    return _sorted(pq.read_table(out / "parquet"))


def _routed_here(folder: Path) -> list[dict[str, Any]]:
    """The same without Spark."""
    archive = str(folder / "data" / JOURNAL_FOLDER)
    batches = run_locally(
        list_pieces(archive), RouteOperation(), read_directories(archive).find_latest(), ArchiveDefaults(at_us=1)
    )
    return _sorted(pa.Table.from_batches(batches))


def _sorted(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=lambda row: (row["position"], row["copy"] or 0))


def _start(master: str, *command: str) -> subprocess.Popen[str]:
    options = ("--master", master, "--driver-memory", "1g")
    conf = {
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.executor.memory": "512m",
        "spark.default.parallelism": "8",
        "spark.driver.host": "127.0.0.1",
    }
    given = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROAD_")}
    return subprocess.Popen(
        [*POSTROAD, *command, *options, *given],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_until_tasks_write(job: subprocess.Popen[str], folder: Path) -> None:
    def is_writing() -> bool:
        assert job.poll() is None, job.communicate()
        return any(folder.rglob("_temporary/**/*.parquet"))

    eventually(is_writing, JOB_S, why="no task began to write")
