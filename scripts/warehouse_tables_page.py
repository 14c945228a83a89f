"""The reference page of the warehouse's tables, written from ``warehouse/landing/log.py`` and the modules of the others."""

from __future__ import annotations

import sys
from inspect import getdoc

import pyarrow as pa

from postroad.warehouse.landing import log
from postroad.warehouse.pipeline import TABLES

INTRODUCTION = """# Tables of the warehouse

<!-- Written by `python -m scripts.reference_pages`; a test compares. Change the modules in warehouse/, not this page. -->

`postroad pipeline run` lands the journal in the table `log`; every other table is made from it. A table is a folder of Parquet
files with a [Delta](https://delta.io) log beside them, which Spark, DuckDB, Polars and others read as it is. How tables are
written is explained in [the warehouse](../explanation/warehouse.md), how to get them in
[Run the pipeline](../howto/run-the-pipeline.md).
"""

LANDED_ON = "| `landed_on` | date | day on which the row was landed (UTC); the table is divided by it |\n"


def render() -> str:
    rows = "".join(f"| `{column.name}` | {_type(column.type)} | {column.meaning} |\n" for column in log.COLUMNS)
    about = getdoc(log) or ""
    landed = f"## log\n\n{_prose(about)}\n| column | type | meaning |\n|---|---|---|\n{rows}{LANDED_ON}"
    return "\n".join([INTRODUCTION, landed, *_others()])


def _others() -> list[str]:
    """Every other table in the words of its module, which state its grain."""
    made = {table.name: getdoc(sys.modules[table.make.__module__]) for table in TABLES}
    return [f"## {name}\n\n{_prose(about or '')}" for name, about in made.items()]


def _prose(about: str) -> str:
    """The module's own words; its indented lines become a block of text."""
    pieces = about.split("\n\n")
    marked = [f"~~~text\n{piece}\n~~~" if piece.startswith("    ") else piece for piece in pieces]
    return "\n\n".join(marked).replace("``", "`").replace("~~~", "```") + "\n"


def _type(given: pa.DataType) -> str:
    if pa.types.is_list(given) and not pa.types.is_struct(given.value_type):
        return f"array of {_type(given.value_type)}"
    if pa.types.is_list(given):
        inside = ", ".join(f"{field.name} {_type(field.type)}" for field in given.value_type)
        return f"array of ({inside})"
    return {"int32": "int", "int64": "long", "double": "double", "bool": "boolean", "date32[day]": "date"}.get(
        str(given), "timestamp" if pa.types.is_timestamp(given) else str(given)
    )
