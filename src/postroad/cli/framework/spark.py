"""Options of commands that run on Spark, and the Spark session made from them.

Rule: Spark and Arrow are imported only when a command really runs, so that help and everything else work without the
extra ``postroad[warehouse]``; if it is missing, the command explains how to install it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.warehouse.session import SparkSession


class Cluster(NamedTuple):
    """Where Spark runs, as given on the command line."""

    master: str
    driver_memory: str
    options: tuple[str, ...]

    def session(self, name: str) -> SparkSession:
        from postroad.warehouse.session import WarehouseSettings, spark_session

        settings = WarehouseSettings(
            folder=Path(), master=self.master, driver_memory=self.driver_memory, options=dict(self._pairs())
        )
        return spark_session(settings, name)

    def _pairs(self) -> list[tuple[str, str]]:
        pairs = [option.partition("=") for option in self.options]
        wrong = [f"--conf {''.join(pair)}: write it as spark.NAME=VALUE" for pair in pairs if not pair[1]]
        if wrong:
            raise Misconfigured(wrong)
        return [(name, value) for name, _, value in pairs]


def with_cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add options for where Spark runs, passed to the command as ``cluster``."""

    @functools.wraps(function)
    def run(*arguments: Any, master: str, driver_memory: str, conf: tuple[str, ...], **options: Any) -> Any:
        require_warehouse()
        return function(*arguments, cluster=Cluster(master, driver_memory, conf), **options)

    for option in (
        click.option("--conf", multiple=True, metavar="NAME=VALUE", help="Another Spark setting; repeatable."),
        click.option("--driver-memory", default="2g", show_default=True, help="Memory of Spark's driver."),
        click.option(
            "--master", default="local[*]", show_default=True, help="Spark master: local[2], spark://HOST:7077, yarn …"
        ),
    ):  # fmt: skip
        run = option(run)
    return run


def require_warehouse() -> None:
    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        how = "in a clone of the repository: pip install '.[warehouse]'"
        raise Misconfigured([f"{names} cannot be found: install the extra `warehouse` ({how})"])
