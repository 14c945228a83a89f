"""Lookup service: replaces a value in a message by another column of a table.

Arguments: ``table``, ``element`` (path of the element, attribute or JSON member), ``column`` (where the value is
looked up; default: the first), ``value`` (the column with the new value; default: the second), ``missing`` (``keep``,
``error`` or ``remove`` for values that the table does not contain), ``document``, and ``xmlns:PREFIX`` for the path.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.model.asset import AssetKind
from postroad.core.model.message import Delivered
from postroad.errors import Refused
from postroad.services.arguments import Arguments
from postroad.services.document_values import find_part_values, list_values, replace_values
from postroad.services.hosting.off_loop import run_off_loop
from postroad.services.lookup_table import LookupTable
from postroad.services.service import ServiceResult, Tools

TABLES_KEPT = 16
MISSING = ("keep", "error", "remove")


class LookupService:
    def __init__(self) -> None:
        self._tables: dict[str, LookupTable] = {}  # by content; a new version is a new table

    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        arguments = Arguments(message.arguments)
        path, missing = arguments.require("element"), arguments.choice("missing", MISSING, "keep")
        content = tools.asset(AssetKind.TABLE, arguments.get("table")).content
        mapping = await self._mapping(content, arguments.get("column"), arguments.get("value"))
        looked = await find_part_values(message, arguments, path)
        replacements = _replacements(list_values(looked), mapping, missing)
        if replacements is None:
            detail = f"The table does not contain a value at {path}; add it, or use missing=keep"
            raise Refused("lookup.missing", detail)
        return ServiceResult(parts=await replace_values(message, looked, replacements))

    async def _mapping(self, content: str, column: str, value: str) -> Mapping[str, str]:
        table = self._tables.get(content)
        if table is None:
            table = await run_off_loop(len(content), LookupTable, content)
            while len(self._tables) >= TABLES_KEPT:
                self._tables.pop(next(iter(self._tables)))
            self._tables[content] = table
        known = table.cached_mapping(column, value)
        return known if known is not None else await run_off_loop(len(content), table.mapping, column, value)


def _replacements(values: tuple[str, ...], mapping: Mapping[str, str], missing: str) -> dict[str, str | None] | None:
    """Return the replacement for each value; None if a missing value is an error."""
    replacements: dict[str, str | None] = {}
    for value in values:
        if (known := mapping.get(value.strip())) is not None:
            replacements[value] = known
        elif missing == "error":
            return None
        elif missing == "remove":
            replacements[value] = None
    return replacements
