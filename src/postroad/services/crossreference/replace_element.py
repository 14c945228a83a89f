"""The replaceElement operation: replaces a key of one service by the related key of another.

Arguments: ``map``, ``element``, ``keyName``; ``from`` (whose key is in the message; default: the sender), ``to``
(whose key replaces it; default: the only other service that has a related record), ``toKeyName`` (a key, or a name in
the record), ``missing`` (``keep`` or ``error``). For a response the two services are exchanged, so both must be
named. Rule: an error text names the path, never the value, since it stays in the journal after the body is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.message import Delivered, MessageType
from postroad.errors import Refused
from postroad.services.arguments import Arguments, bad_argument
from postroad.services.crossreference.shared_map import SharedMap
from postroad.services.document_values import find_part_values, list_values, replace_values
from postroad.services.service import ServiceResult

MAX_VALUES = 1_000  # different values in one message


class KeyReplacement(NamedTuple):
    """The service and key to replace, and those to replace them with."""

    origin: str  # GCID
    key_name: str
    target: str  # GCID; empty: any service with a related record
    target_name: str


async def replace_element(message: Delivered, arguments: Arguments, shared: SharedMap) -> ServiceResult:
    path = arguments.require("element")
    missing = arguments.choice("missing", ("keep", "error"), "keep")
    exchange = _exchange(message, arguments, shared)
    if exchange is None:
        return ServiceResult()
    looked = await find_part_values(message, arguments, path)
    values = list(dict.fromkeys(list_values(looked)))
    if len(values) > MAX_VALUES:
        detail = f"{path} selects {len(values)} different values; at most {MAX_VALUES} can be replaced"
        raise bad_argument("element", detail)
    keys = [Key(exchange.origin, exchange.key_name, value.strip()) for value in values]
    found = await shared.tools.references.find_related(shared.owner.gcid, shared.name, keys)
    related = {value: _related_value(records, exchange, path) for value, records in zip(values, found, strict=True)}
    if missing == "error" and None in related.values():
        detail = f"The map has no related value for a value at {path}; relate it, or use missing=keep"
        raise Refused("crossreference.missing", detail)
    known = {value: text for value, text in related.items() if text is not None}
    return ServiceResult(parts=await replace_values(message, looked, known))


def _exchange(message: Delivered, arguments: Arguments, shared: SharedMap) -> KeyReplacement | None:
    """Return the replacement to make; None for a response whose arguments do not define one."""
    key_name, target_name = arguments.require("keyName"), arguments.get("toKeyName")
    origin, target = (
        shared.party(side, arguments.get(side)).gcid if arguments.get(side) else "" for side in ("from", "to")
    )
    if message.type is not MessageType.RESPONSE:
        return KeyReplacement(origin or message.sender_gcid, key_name, target, target_name)
    if not origin or not target:
        return None
    return KeyReplacement(target, target_name or key_name, origin, key_name)


def _related_value(records: Iterable[CrossReferenceRecord], exchange: KeyReplacement, path: str) -> str | None:
    """Return the single value that replaces the other."""
    candidates = (record for record in records if _is_target(record, exchange))
    named = {(record.key.service, _named(record, exchange.target_name)) for record in candidates}
    found = [value for _, value in named if value is not None]
    if len(found) > 1:
        raise Refused(
            "crossreference.ambiguous",
            f"Several records are related to a value that {path} selects; choose one with the arguments 'to' and 'toKeyName'",
        )
    return found[0] if found else None


def _is_target(record: CrossReferenceRecord, exchange: KeyReplacement) -> bool:
    if not exchange.target:
        return record.key.service != exchange.origin
    return record.key.service == exchange.target


def _named(record: CrossReferenceRecord, name: str) -> str | None:
    """Return the record's key, or its value under another name if requested."""
    if name in ("", record.key.name):
        return record.key.value
    return dict(record.pairs).get(name)
