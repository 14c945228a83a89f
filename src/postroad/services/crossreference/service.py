"""Cross-reference service: relates records of different services in shared maps.

The argument ``operation`` selects the operation: ``put`` a record, ``relate`` two of them, ``query`` the keys related
to a key, ``replaceElement`` in a message in transit, or ``watch`` a request and its response and relate the keys
found in them. It may be omitted if the service's profile lists only one of these. The key of a record is a name and a
value; other arguments of a ``put`` become its name-value pairs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from html import escape

import msgspec

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.message import Delivered, MessageType, Part
from postroad.errors import Refused
from postroad.services.arguments import Arguments
from postroad.services.crossreference.records import MapChangeCause
from postroad.services.crossreference.replace_element import replace_element
from postroad.services.crossreference.shared_map import SharedMap, open_map
from postroad.services.crossreference.watch import watch
from postroad.services.service import ServiceResult, Tools

FORMATS = {"json": "application/json", "xml": "application/xml"}
KNOWN = ("operation", "map", "keyName", "keyValue")
RESULT = "related"  # id of the document that answers a query

Operation = Callable[[Delivered, Arguments, SharedMap], Awaitable[ServiceResult]]


class CrossReferenceService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        arguments = Arguments(message.arguments)
        usual = [operation for operation in tools.service.operations if operation in OPERATIONS]
        operation = arguments.choice("operation", tuple(OPERATIONS), usual[0] if len(usual) == 1 else "")
        try:
            shared = open_map(message, arguments, tools)
        except Refused:
            if message.type is MessageType.RESPONSE:  # the responder need not share the map, and its response passes
                return ServiceResult()
            raise
        return await OPERATIONS[operation](message, arguments, shared)


async def put(message: Delivered, arguments: Arguments, shared: SharedMap) -> ServiceResult:
    """Save a record of the acting service, replacing its previous one."""
    key = Key(shared.acting.gcid, arguments.require("keyName"), arguments.require("keyValue"))
    record = CrossReferenceRecord(key, tuple(arguments.others(KNOWN).items()))
    await shared.tools.references.save(shared.owner.gcid, shared.name, [record], build_cause(message, shared))
    return ServiceResult(parts=())


async def relate(message: Delivered, arguments: Arguments, shared: SharedMap) -> ServiceResult:
    """Record that two keys of different services mean the same thing."""
    one = shared.party("service", arguments.get("service", shared.acting.gcid))
    other = shared.party("otherService", arguments.require("otherService"))
    if not shared.may_relate(one, other):
        raise Refused("permission.denied", "One of the two records must belong to your organization")
    pair = (
        Key(one.gcid, arguments.require("keyName"), arguments.require("keyValue")),
        Key(other.gcid, arguments.require("otherKeyName"), arguments.require("otherKeyValue")),
    )
    await shared.tools.references.relate(shared.owner.gcid, shared.name, [pair], build_cause(message, shared))
    return ServiceResult(parts=())


async def query(message: Delivered, arguments: Arguments, shared: SharedMap) -> ServiceResult:
    """Return the record with a key and all related ones as a document, or as an extra part in transit."""
    service = shared.party("service", arguments.get("service", shared.acting.gcid))
    key = Key(service.gcid, arguments.require("keyName"), arguments.require("keyValue"))
    form = arguments.choice("format", tuple(FORMATS), "json")
    [records] = await shared.tools.references.find_related(shared.owner.gcid, shared.name, [key])
    data = format_records(records, form, shared)
    document = Part(id=RESULT, content_type=FORMATS[form], data=data)
    others = tuple(part for part in message.parts if part.id != RESULT) if message.in_transit else ()
    return ServiceResult(parts=(*others, document))


def build_cause(message: Delivered, shared: SharedMap) -> MapChangeCause:
    return MapChangeCause(shared.acting.gcid, message.session)


OPERATIONS: dict[str, Operation] = {
    "put": put,
    "relate": relate,
    "query": query,
    "replaceElement": replace_element,
    "watch": watch,
}


def format_records(records: Sequence[CrossReferenceRecord], form: str, shared: SharedMap) -> bytes:
    return _json(records, shared) if form == "json" else _xml(records, shared).encode()


def _json(records: Sequence[CrossReferenceRecord], shared: SharedMap) -> bytes:
    content = {
        "map": shared.name,
        "records": [
            {
                "service": _address(record, shared),
                "keyName": record.key.name,
                "keyValue": record.key.value,
                "pairs": dict(record.pairs),
            }
            for record in records
        ],
    }
    return msgspec.json.encode(content)


def _xml(records: Sequence[CrossReferenceRecord], shared: SharedMap) -> str:
    lines = [f'<Records map="{escape(shared.name)}">']
    for record in records:
        key = f'keyName="{escape(record.key.name)}" keyValue="{escape(record.key.value)}"'
        lines.append(f'  <Record service="{escape(_address(record, shared))}" {key}>')
        lines += [f'    <Pair name="{escape(name)}">{escape(value)}</Pair>' for name, value in record.pairs]
        lines.append("  </Record>")
    return "\n".join([*lines, "</Records>"])


def _address(record: CrossReferenceRecord, shared: SharedMap) -> str:
    return shared.tools.directory.address_of(record.key.service)
