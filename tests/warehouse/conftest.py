"""One Spark session for all tests of the warehouse: starting one costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from postroad.warehouse.session import WarehouseSettings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# C1 alone starts in half the CPU time; tests are short, so they never get the better code of C2 anyway.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores; its tables belong in the test's own ``tmp_path``."""
    settings = WarehouseSettings(
        folder=tmp_path_factory.mktemp("warehouse"),
        master="local[2]",
        shuffle_partitions=2,
        options={
            "spark.driver.extraJavaOptions": QUICK_START,
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
        },
    )
    session = spark_session(settings, name="postroad tests")
    yield session
    session.stop()
