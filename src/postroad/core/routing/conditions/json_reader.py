"""Strict JSON reader for conditions that keeps numbers as they were written.

Rule: one document has one meaning. A repeated name in an object is refused, since receivers might read the other
value; so is syntax that only some parsers accept. Numbers stay texts, so long numbers are not expensive.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.routing.conditions.canonical_content import JsonNumber
from postroad.errors import Refused

_STRICT = msgspec.json.Decoder(float_hook=str)


def read_json(data: bytes) -> Any:
    """Return the value as dict, list, str, ``JsonNumber``, True, False or None; raises Refused if it is invalid."""
    check_size(data, DEFAULT_LIMITS)
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        if b"\\ud" in data or b"\\uD" in data:
            _STRICT.decode(data)  # refuses lone surrogates, which json accepts
        return json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_int=JsonNumber,
            parse_float=JsonNumber,
            parse_constant=_refuse_constant,
        )
    except (ValueError, msgspec.DecodeError) as fault:
        raise malformed(f"this is not JSON in UTF-8: {str(fault)[:200]}") from None
    except RecursionError:
        raise too_complex("the JSON is nested too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise malformed("a name occurs twice in one object")
    return members


def _refuse_constant(name: str) -> Refused:
    raise malformed(f"{name} is not JSON")
