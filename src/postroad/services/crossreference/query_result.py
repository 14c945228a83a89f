"""The result of a cross-reference query, encoded as JSON or XML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec

from postroad.core.model.cross_reference import CrossReferenceRecord
from postroad.services.crossreference.shared_map import SharedMap

FORMATS = {"json": "application/json", "xml": "application/xml"}


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
