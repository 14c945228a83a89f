"""Landing beside a real server that is being posted to, and landing that is killed as by a power switch."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from postroad.bootstrap.stores import JOURNAL_FOLDER
from postroad.testing.server import ServerProcess
from postroad.warehouse.jobs.landing import land, landed_seq
from postroad.warehouse.sources import SegmentLog
from postroad.warehouse.store import DeltaStore
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.samples.spark import QUICK_START
from tests.waiting import eventually
from tests.warehouse.pipeline.landed import counts, events, landed, landed_upto, made_up_journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LANDINGS = 3
KILLS = int(os.environ.get("POSTROAD_TEST_LANDING_KILLS", "2"))
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
STARTING_S = 120.0
MOMENTS = ("_delta_log/*.json", "*.parquet")  # what shows that a batch is committed, and that one is being written
COMMAND = (sys.executable, "-c", "from postroad.cli.main import main; main()", "pipeline", "run", "--log-only")


@pytest.mark.req("P1")
async def test_a_growing_tail_is_landed_while_the_server_posts(spark: SparkSession, tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    keys = await enroll(server, SENDER, RECEIVER)
    store, source = DeltaStore(spark, tmp_path / "tables"), SegmentLog(folder=tmp_path / "data" / JOURNAL_FOLDER)
    with server:
        load, enough = Load(server.port, keys, Random(3)), asyncio.Event()
        posting = asyncio.create_task(_post_now_and_then(load, enough))
        for _ in range(LANDINGS):
            done = await asyncio.to_thread(land, spark, store, source)
            held = await asyncio.to_thread(counts, store.folder)
            assert done.upto > done.after  # it has grown since
            assert held == {"rows": held["keys"], "keys": held["keys"], "last": done.upto}
        enough.set()
        await posting
        assert server.stop() == 0
    land(spark, store, source)
    assert landed_seq(store) == source.head()
    assert landed(store.folder).equals(events(source))


async def _post_now_and_then(load: Load, enough: asyncio.Event) -> None:
    while not enough.is_set():
        await load.run(0.05, singles=2, bulks=0, receivers=1)
        await load.ended()
        await asyncio.sleep(0.2)  # sleeps: landing is to catch up now and then


class LandingProcess:
    """``postroad pipeline run`` in a process group of its own, with Spark's and all its workers."""

    def __init__(self, data: Path, batch: int) -> None:
        options = ("--data", str(data), "--batch", str(batch), "--master", "local[2]", "--driver-memory", "1g")
        conf = ("--conf", f"spark.driver.extraJavaOptions={QUICK_START} -Djava.io.tmpdir={data.parent}")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROAD_")}
        environment["TMPDIR"] = str(data.parent)  # what it cannot remove any more goes with the test's own folder
        self.log = data.with_name("landing.log")
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                (*COMMAND, *options, *conf),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def __enter__(self) -> LandingProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, folder: Path, files: str, more_than: int) -> None:
        """Until there are more such files than before: a batch is being written, or has been committed."""
        eventually(lambda: not self.is_running or count_files(folder, files) > more_than, STARTING_S)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def wait(self) -> int:
        return self._process.wait(STARTING_S)


def count_files(folder: Path, files: str) -> int:
    try:
        return sum(1 for _ in folder.rglob(files))
    except FileNotFoundError:  # Spark removed a folder meanwhile
        return count_files(folder, files)


@pytest.mark.req("P1")
@pytest.mark.timeout(2 * STARTING_S * (KILLS + 1))
def test_landing_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """POSTROAD_TEST_LANDING_KILLS=50 kills it fifty times. A kill is for the whole process group: driver, JVM and workers."""
    data, tables, chance = tmp_path / "data", tmp_path / "data" / "warehouse", random.Random(SEED)
    print(f"POSTROAD_TEST_SEED={SEED}")
    source = made_up_journal(data / JOURNAL_FOLDER, messages=1_500)
    batch = source.head() // (4 * KILLS)
    reached = []
    for number in range(KILLS):
        moment = MOMENTS[number % len(MOMENTS)]
        before = count_files(tables, moment)
        with LandingProcess(data, batch) as running:
            running.wait_for(tables, moment, before)
            time.sleep(chance.uniform(0.0, 0.6))  # sleeps: the kill comes at a random moment
            assert running.is_running, running.log.read_text()
            running.kill()
        reached.append(landed_upto(tables))
        if reached[-1]:
            held = counts(tables)
            assert (held["rows"], held["last"]) == (held["keys"], reached[-1])
    assert reached == sorted(reached)
    assert 0 < reached[-1] < source.head()
    with LandingProcess(data, batch=source.head()) as last:
        assert last.wait() == 0, last.log.read_text()
    assert landed_upto(tables) == source.head()
    assert landed(tables).equals(events(source))
