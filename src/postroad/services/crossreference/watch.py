"""The watch operation: relates keys found in a request and in its response.

Example: a request contains a new customer with the sender's number, and the response contains the recipient's number;
from then on the map relates the two. The sender's keys are stored as a record of their own, so that a restart between
request and response loses nothing. The service must ask for responses (``returns`` in its profile). Arguments:
``map``, ``element``, ``keyName``; ``responseElement`` and ``responseKeyName``, if they differ in the response. Rule:
watching never changes or stops a message; keys that cannot be paired are not related.
"""

from __future__ import annotations

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.message import Delivered, MessageType, Property, PropertyType
from postroad.errors import Refused
from postroad.services.arguments import Arguments
from postroad.services.crossreference.records import MapChangeCause
from postroad.services.crossreference.shared_map import SharedMap
from postroad.services.document_values import check_path, find_part_values, list_values
from postroad.services.service import ServiceResult

WATCHED = "*watched*"  # no asset can have this name, so this map is not shared
MAX_VALUES = 1_000
RELATED = "crossreference.related"  # the property with the number of related pairs


async def watch(message: Delivered, arguments: Arguments, shared: SharedMap) -> ServiceResult:
    arguments.require("keyName")
    for path in (arguments.require("element"), _response_path(arguments)):
        check_path(path, arguments)
    sender = shared.tools.directory.services.get(message.sender_gcid)
    if sender is None or not shared.shares(sender):
        return ServiceResult()
    if message.type is MessageType.REQUEST:
        await _remember(message, arguments, shared)
    elif message.type is MessageType.RESPONSE and message.status is None:
        return await _relate(message, arguments, shared)
    return ServiceResult()


async def _remember(message: Delivered, arguments: Arguments, shared: SharedMap) -> None:
    values = await _values(message, arguments, arguments.get("element"))
    if not values:
        return
    key_name = arguments.get("keyName")
    seen = CrossReferenceRecord(
        _memory(message, arguments, shared), ((message.sender_gcid, ""), *((key_name, value) for value in values))
    )
    cause = MapChangeCause(shared.acting.gcid, message.session)
    await shared.tools.references.save(shared.owner.gcid, WATCHED, [seen], cause)


async def _relate(message: Delivered, arguments: Arguments, shared: SharedMap) -> ServiceResult:
    memory = _memory(message, arguments, shared)
    [records] = await shared.tools.references.find_related(shared.owner.gcid, WATCHED, [memory])
    if not records:
        return ServiceResult()
    (requester, _), *seen = records[0].pairs
    values = await _values(message, arguments, _response_path(arguments))
    name = arguments.get("responseKeyName", arguments.get("keyName"))
    pairs = [
        (Key(requester, key_name, key_value), Key(message.sender_gcid, name, value))
        for (key_name, key_value), value in zip(seen, values, strict=False)
    ]
    if len(seen) != len(values):
        pairs = []  # it is unknown which values belong together
    if pairs:
        cause = MapChangeCause(shared.acting.gcid, message.session)
        await shared.tools.references.relate(shared.owner.gcid, shared.name, pairs, cause)
    return ServiceResult(properties=(Property(RELATED, str(len(pairs)), PropertyType.NUMBER),))


async def _values(message: Delivered, arguments: Arguments, path: str) -> list[str]:
    """Return the values found by a path, stripped; a document that cannot be read has none."""
    try:
        found = [value.strip() for value in list_values(await find_part_values(message, arguments, path))]
    except Refused:
        return []
    return [value for value in found if value][:MAX_VALUES]


def _response_path(arguments: Arguments) -> str:
    return arguments.get("responseElement", arguments.get("element"))


def _memory(message: Delivered, arguments: Arguments, shared: SharedMap) -> Key:
    return Key(shared.owner.gcid, f"{shared.name}/{arguments.get('keyName')}", message.transaction)
