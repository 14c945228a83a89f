"""Spark sessions for the warehouse, on this machine or a cluster, and the package that is sent to workers.

Rules: workers run exactly the code of the driver. Other dependencies (msgspec, pyarrow, lxml …) must be installed on
the workers already, or come with a packed environment; see ``docs/howto/run-on-a-cluster.md``. Settings that
correctness depends on are fixed here and cannot be overridden by accident: UTC, ANSI (an overflow is an error, not a
wrong bill), and the same Python in the workers as in the driver. Everything else comes from the settings.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import postroad
from postroad.warehouse.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as SparkSession  # for modules that may not import pyspark

SKIPPED = "__pycache__"


def pack_package(folder: Path) -> Path:
    """Write ``postroad.zip`` to the folder: every file of the package."""
    root = Path(postroad.__file__).parent
    target = folder / "postroad.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and SKIPPED not in path.parts:
                archive.write(path, Path(root.name) / path.relative_to(root))
    return target


CORRECTNESS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
COMFORT = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
}
LOCAL_ONLY = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties").as_uri()
SHIPPING = ("spark.submit.pyFiles", "spark.archives", "spark.yarn.dist.archives", "spark.kubernetes.container.image")
NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseSettings:
    """The folder of the tables and the Spark cluster to use."""

    folder: Path  # of the tables
    master: str = "local[*]"  # as Spark writes it: local[4], spark://host:7077, yarn, k8s://…
    driver_memory: str = "2g"
    shuffle_partitions: int = 0  # 0 = two per core here; Spark's own choice on a cluster
    options: Mapping[str, str] = field(default_factory=dict)  # further spark.* settings, as with --conf

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def ships_package(self) -> bool:
        """Whether workers get the package from the driver: on a cluster, unless the user has said how they get it."""
        return not self.is_local and not any(name in self.options for name in SHIPPING)


def spark_session(settings: WarehouseSettings, name: str = "postroad") -> SparkSession:
    """Return the Spark session, started if necessary, which takes some seconds."""
    from pyspark.sql import SparkSession

    _prepare_environment(settings)
    builder = SparkSession.builder.master(settings.master).appName(name)
    for key, value in _options(settings).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if settings.ships_package:
        session.sparkContext.addPyFile(str(pack_package(_kept_folder())))
    for logger in NOISY_LOGGERS:  # they print whole stack traces as JSON for errors that are reported anyway
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return session


def _kept_folder() -> Path:
    """Return a folder that lives as long as this process: late workers still fetch files from it."""
    folder = Path(tempfile.mkdtemp(prefix="postroad-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _options(settings: WarehouseSettings) -> dict[str, str]:
    options = dict(COMFORT) | (LOCAL_ONLY if settings.is_local else {})
    options["spark.driver.memory"] = settings.driver_memory
    options["spark.driver.extraJavaOptions"] = _java_options(settings)
    partitions = settings.shuffle_partitions or (2 * (os.cpu_count() or 1) if settings.is_local else 0)
    if partitions:
        options["spark.sql.shuffle.partitions"] = str(partitions)
    given = {name: value for name, value in settings.options.items() if name != "spark.driver.extraJavaOptions"}
    return options | given | CORRECTNESS


def _java_options(settings: WarehouseSettings) -> str:
    given = settings.options.get("spark.driver.extraJavaOptions", "")
    return (
        given if "log4j2.configurationFile" in given else f"{given} -Dlog4j2.configurationFile={LOG_SETTINGS}".strip()
    )


def _prepare_environment(settings: WarehouseSettings) -> None:
    """Set the environment that Spark's launcher reads; explicit choices of the user stay."""
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    if settings.is_local:
        os.environ["PYSPARK_PYTHON"] = sys.executable  # local workers must not be another Python
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if settings.is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
