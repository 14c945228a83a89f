"""replaceElement: a key of one service in a message gives way to the related key of another.

Arguments: ``map``, ``element``, ``keyName``; ``from`` (whose key stands in the message; else the sender), ``to`` (whose key
replaces it; else the only other service that has a related record), ``toKeyName`` (a key, or a name in the record),
``missing`` (``keep`` or ``error``). On the way back of a response the two services change places, which both must be named
for. Kept rule: a complaint names the path, never what stands there, since it stays in the journal when the body is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.message import Delivered, MessageType
from postroad.errors import Refused
from postroad.services.arguments import Arguments, bad_argument
from postroad.services.documents import looked_into, values_in, with_values
from postroad.services.service import Returned
from postroad.services.shared_map import SharedMap

VALUES_MOST = 1_000  # different ones in one message


class Exchange(NamedTuple):
    """Whose key stands in the message, and whose is to stand there."""

    origin: str  # GCID
    key_name: str
    target: str  # GCID; empty: whoever has a related record
    target_name: str


async def replace_element(message: Delivered, arguments: Arguments, shared: SharedMap) -> Returned:
    path = arguments.needed("element")
    missing = arguments.choice("missing", ("keep", "error"), "keep")
    exchange = _exchange(message, arguments, shared)
    if exchange is None:
        return Returned()
    looked = await looked_into(message, arguments, path)
    values = list(dict.fromkeys(values_in(looked)))
    if len(values) > VALUES_MOST:
        detail = f"{path} leads to {len(values)} different values; at most {VALUES_MOST} are replaced"
        raise bad_argument("element", detail)
    keys = [Key(exchange.origin, exchange.key_name, value.strip()) for value in values]
    found = await shared.tools.references.related(shared.owner.gcid, shared.name, keys)
    related = {value: _related_value(records, exchange, path) for value, records in zip(values, found, strict=True)}
    if missing == "error" and None in related.values():
        detail = f"Nothing is related to a value that {path} leads to; relate it, or say missing=keep"
        raise Refused("crossreference.missing", detail)
    known = {value: text for value, text in related.items() if text is not None}
    return Returned(parts=await with_values(message, looked, known))


def _exchange(message: Delivered, arguments: Arguments, shared: SharedMap) -> Exchange | None:
    """What is to be exchanged; None for a response of which the arguments do not say whose key it is to get."""
    key_name, target_name = arguments.needed("keyName"), arguments.get("toKeyName")
    origin, target = (
        shared.party(side, arguments.get(side)).gcid if arguments.get(side) else "" for side in ("from", "to")
    )
    if message.type is not MessageType.RESPONSE:
        return Exchange(origin or message.sender_gcid, key_name, target, target_name)
    if not origin or not target:
        return None
    return Exchange(target, target_name or key_name, origin, key_name)


def _related_value(records: Iterable[CrossReferenceRecord], exchange: Exchange, path: str) -> str | None:
    """The one value to put in the place of the other."""
    candidates = (record for record in records if _is_target(record, exchange))
    named = {(record.key.service, _named(record, exchange.target_name)) for record in candidates}
    found = [value for _, value in named if value is not None]
    if len(found) > 1:
        raise Refused(
            "crossreference.ambiguous",
            f"Several records are related to a value that {path} leads to; "
            "say which is meant by the arguments 'to' and 'toKeyName'",
        )
    return found[0] if found else None


def _is_target(record: CrossReferenceRecord, exchange: Exchange) -> bool:
    if not exchange.target:
        return record.key.service != exchange.origin
    return record.key.service == exchange.target


def _named(record: CrossReferenceRecord, name: str) -> str | None:
    """The record's key or, where another name is asked for, what it says under that name."""
    if name in ("", record.key.name):
        return record.key.value
    return dict(record.pairs).get(name)
