"""Header items as XQuery sees them: the name of a simple type and the value's text, or an element for a list.

Rule: only names that are valid variable names are passed on; other header items cannot be queried, and are not an
error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from html import escape

from postroad.ports import ItemValue

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\ufffd"
_SPECIAL = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}


def to_typed_items(items: Mapping[str, ItemValue]) -> dict[str, tuple[str, str]]:
    return {name: _typed(value) for name, value in items.items() if _NAME.fullmatch(name) and name != "msg"}


def _typed(value: ItemValue) -> tuple[str, str]:
    match value:
        case str():
            return "string", _NOT_XML.sub(_REPLACEMENT, value)
        case bool():
            return "boolean", "true" if value else "false"
        case int():
            return "integer", str(value)
        case Decimal():
            return "decimal", format(value, "f")
        case float():
            return "double", _SPECIAL.get(repr(value), repr(value))
        case datetime():
            return "dateTime", value.isoformat()
        case date():
            return "date", value.isoformat()
        case _:
            return "xml", _element(value)


def _element(value: ItemValue) -> str:
    """Return an array as ``<array>``, a sequence (a tuple) as ``<sequence>``, with an ``<item>`` for each; they may be nested."""
    if isinstance(value, str) or not isinstance(value, list | tuple):
        return escape(_typed(value)[1], quote=False)
    name = "sequence" if isinstance(value, tuple) else "array"
    return f"<{name}>" + "".join(f"<item>{_element(one)}</item>" for one in value) + f"</{name}>"
