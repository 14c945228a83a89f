"""Schema changes of a table: new columns are added at the end, and nothing else.

Rule: every column may be null, because files from before a column was added do not have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalake import Field, Schema

from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def nullable_schema(given: StructType) -> Schema:
    """Spark's schema as Delta writes it down, which is the same text, with every column nullable."""
    text = given.json()
    for what in ("nullable", "containsNull", "valueContainsNull"):
        text = text.replace(f'"{what}":false', f'"{what}":true')
    return Schema.from_json(text)


def find_added_columns(kept: Schema, given: Schema, table: str) -> list[Field]:
    """The columns of ``given`` that the table does not have yet; a column of another type is Misconfigured."""
    known = {field.name: field for field in kept.fields}
    changed = [field for field in given.fields if field.name in known and field.type != known[field.name].type]
    if changed:
        faults = [
            f"table {table}: column {field.name} is {known[field.name].type}, not {field.type}" for field in changed
        ]
        raise Misconfigured(
            [*faults, f"give the changed column another name, or remove the table {table} and rebuild it"]
        )
    return [field for field in given.fields if field.name not in known]
