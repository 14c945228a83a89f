"""One Spark session for all tests of the warehouse: starting one costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from postroad.warehouse.session import WarehouseSettings, spark_session
from tests.samples.spark import QUICK_START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Compiling each query takes longer than running it on a few rows. Tests of commands start a Spark of their own, which compiles.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


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
            **INTERPRETED,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
        },
    )
    session = spark_session(settings, name="postroad tests")
    yield session
    session.stop()
