"""replaceElement: a key of one service in a message gives way to the related key of another.

Arguments: ``map``, ``element``, ``keyName``; ``from`` (whose key stands in the message; else the sender), ``to`` (whose key
replaces it; else the only other service that has a related record), ``toKeyName`` (a key, or a name in the record),
``missing`` (``keep`` or ``error``). On the way back of a response the two services change places, which both must be named
for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from postroad.core.model.directory import Service
from postroad.core.model.journal import CrossReferenceRecord, Key
from postroad.core.model.message import Delivered, MessageType
from postroad.errors import Refused
from postroad.services.arguments import Arguments, bad_argument
from postroad.services.documents import looked_into, values_in, with_values
from postroad.services.service import Returned
from postroad.services.shared_map import SharedMap

VALUES_MOST = 1_000  # different ones in one message


class Exchange(NamedTuple):
    """Whose key stands in the message, and whose is to stand there."""

    origin: Service
    key_name: str
    target: Service | None  # None: whoever has a related record
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
        raise bad_argument(
            "element", f"The path finds {len(values)} different values; at most {VALUES_MOST} are replaced"
        )
    keys = [Key(exchange.origin.gcid, exchange.key_name, value.strip()) for value in values]
    found = await shared.tools.references.related(shared.owner.gcid, shared.name, keys)
    replacements: dict[str, str | None] = {}
    for value, records in zip(values, found, strict=True):
        known = _related_value(records, exchange, value)
        if known is not None:
            replacements[value] = known
        elif missing == "error":
            raise Refused(
                "crossreference.missing", f"Nothing is related to {value[:80]!r}; relate it, or say missing=keep"
            )
    return Returned(parts=await with_values(message, looked, replacements))


def _exchange(message: Delivered, arguments: Arguments, shared: SharedMap) -> Exchange | None:
    """What is to be exchanged; None for a response of which the arguments do not say whose key it is to get."""
    key_name, target_name = arguments.needed("keyName"), arguments.get("toKeyName")
    target = shared.party("to", arguments.get("to")) if arguments.get("to") else None
    if message.type is not MessageType.RESPONSE:
        origin = shared.party("from", arguments.get("from", message.sender_gcid))
        return Exchange(origin, key_name, target, target_name)
    if target is None or not arguments.get("from"):
        return None
    return Exchange(target, target_name or key_name, shared.party("from", arguments.get("from")), key_name)


def _related_value(records: Iterable[CrossReferenceRecord], exchange: Exchange, value: str) -> str | None:
    """The one value to put in the place of the other."""
    candidates = [record for record in records if _is_target(record, exchange)]
    found = {_named(record, exchange.target_name) for record in candidates} - {None}
    if len(found) > 1 or (exchange.target is None and len({record.key.service for record in candidates}) > 1):
        raise Refused(
            "crossreference.ambiguous",
            f"Several records are related to {value[:80]!r}; say which is meant by the arguments 'to' and 'toKeyName'",
        )
    return found.pop() if found else None


def _is_target(record: CrossReferenceRecord, exchange: Exchange) -> bool:
    if exchange.target is None:
        return record.key.service != exchange.origin.gcid
    return record.key.service == exchange.target.gcid


def _named(record: CrossReferenceRecord, name: str) -> str | None:
    """The record's key or, where another name is asked for, what it says under that name."""
    if name in ("", record.key.name):
        return record.key.value
    return dict(record.pairs).get(name)
