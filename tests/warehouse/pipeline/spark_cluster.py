"""A real standalone cluster of Spark on this machine, started from the wheel: a master and workers of one core each.

Workers find a package ``postroad`` that cannot be imported, so what they run has come from the driver.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pyspark

from postroad.testing.ports import free_port
from postroad.warehouse.java import java_home
from tests.waiting import eventually

STARTING_S = 90.0
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR = b"CoarseGrainedExecutorBackend"


class SparkCluster:
    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._workers = workers
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> SparkCluster:
        decoy = self._folder / "decoy" / "postroad"
        decoy.mkdir(parents=True)
        (decoy / "__init__.py").write_text("raise ImportError('this is not the package of the driver')\n")
        try:
            self._start("master", MASTER, "--port", str(self._port))
            self._wait_for("I have been elected leader", 1)
            for number in range(self._workers):
                work = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / f"work{number}"))
                self._start(f"worker{number}", WORKER, *work, self.master)
            self._wait_for("Registering worker", self._workers)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self._processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def executors(self) -> list[int]:
        """Processes that do the work, of this cluster and no other."""
        groups = {process.pid for process in self._processes}
        return [pid for pid in _processes() if EXECUTOR in _command(pid) and _group(pid) in groups]

    def _start(self, name: str, *command: str) -> None:
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environment = os.environ | {"PYTHONPATH": str(self._folder / "decoy")}
        environment |= {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        environment |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(program), *command[:1], "--host", "127.0.0.1", "--webui-port", "0", *command[1:]],
                    env=environment, cwd=self._folder, stdout=log, stderr=log, start_new_session=True,
                )
            )  # fmt: skip

    def _wait_for(self, words: str, times: int) -> None:
        log = self._folder / "master.log"
        try:
            eventually(lambda: log.read_text(errors="replace").count(words) >= times, STARTING_S)
        except AssertionError as error:
            raise AssertionError(f"the cluster did not start:\n{log.read_text(errors='replace')[-2000:]}") from error


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _group(pid: int) -> int:
    with suppress(OSError):
        return os.getpgid(pid)
    return 0
