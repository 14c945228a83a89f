"""JSON documents in XQuery's data model: maps and arrays, every number a double, null as nothing.

Rules: a document is read as by the engine: of repeated names the first counts, and ``null`` is the empty sequence. A
document that is nested deeper than the engine allows, or is not JSON, is refused: an error for each binding that reads it.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from postroad.core.codecs.json_nesting import nests_deeper
from postroad.core.codecs.refusals import malformed

DEPTH = 200
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
JsonDocument = dict[str, Any] | list[Any] | str | float | bool | None


def read_json(content: bytes) -> JsonDocument:
    """Return the document; refused with ``wire.malformed`` if it is not JSON."""
    if nests_deeper(content, DEPTH):
        raise malformed(f"the JSON is nested more than {DEPTH} deep")
    try:
        document: JsonDocument = _DECODER.decode(content.removeprefix(_BYTE_ORDER_MARK).decode())
    except (ValueError, RecursionError) as fault:
        raise malformed(f"this is not JSON: {fault}") from None
    return document


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else dict(reversed(pairs))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_first_of_each, parse_int=float, parse_constant=_refuse_constant)
