"""The worker's cache of compiled schemas, and the validation of documents with them.

Rule: compiled schemas are cached by digest, and the least recently used are removed first, so that a worker's memory
is for schemas in use; what libxml2 caches of a document is removed with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Protocol

from postroad.adapters.confined.frames import WorkerOutcome, WorkerTerms
from postroad.adapters.validation.frames import UNKNOWN, FoundFault, Validation, make_fault, read_call, write_faults
from postroad.adapters.validation.json_judge import JsonJudge
from postroad.adapters.validation.xml_judges import DtdJudge, EngineFailed, XsdJudge
from postroad.core.codecs.xml_names import build_with_own_names
from postroad.core.model.asset import AssetKind
from postroad.errors import Misconfigured, Refused

KEPT_SCHEMAS = 64
KEPT_CHARACTERS = 8_000_000
OUT_OF_MEMORY = WorkerOutcome(code="transform.memory", detail="it needs more memory than a validation may use")

_FIRST = {
    AssetKind.SCHEMA: (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a" type="xs:date"/></xs:schema>',
        b"<a>no date</a>",
    ),
    AssetKind.DTD: ("<!ELEMENT a EMPTY>", b"<a>not empty</a>"),
    AssetKind.JSONSCHEMA: ('{"type": "string", "pattern": "^a", "format": "date"}', b'"b"'),
}


class SchemaJudge(Protocol):
    def faults(self, document: bytes) -> list[FoundFault]: ...


_JUDGES: dict[AssetKind, Callable[[str, dict[str, str]], SchemaJudge]] = {
    AssetKind.SCHEMA: XsdJudge,
    AssetKind.DTD: DtdJudge,
    AssetKind.JSONSCHEMA: JsonJudge,
}


class SchemaCache:
    def __init__(self) -> None:
        self._compiled: OrderedDict[bytes, tuple[SchemaJudge, int]] = OrderedDict()

    def run_once(self) -> None:
        """Have everything loaded that a validation needs, while it can still be loaded."""
        for kind, (text, document) in _FIRST.items():
            call = Validation(digest=kind.value.encode(), kind=kind, name="a", texts={"a": text}, document=document)
            outcome = self.perform(call)
            if outcome.code or not outcome.output:
                raise Misconfigured([f"validation by {kind.value} does not work here: {outcome.detail}"])
        self._compiled.clear()

    def perform(self, call: Validation) -> WorkerOutcome:
        return build_with_own_names(partial(self._perform, call))

    def _perform(self, call: Validation) -> WorkerOutcome:
        try:
            judge = self._judge(call)
            if judge is None:
                return WorkerOutcome(code=UNKNOWN)
            return WorkerOutcome(output=write_faults(_judged(judge, call.document)))
        except Refused as refusal:
            return WorkerOutcome(code="schema.invalid", detail=refusal.detail, line=_line(refusal))
        except EngineFailed as failed:
            return WorkerOutcome(code="transform.failed", detail=str(failed))
        except MemoryError:
            return OUT_OF_MEMORY

    def _judge(self, call: Validation) -> SchemaJudge | None:
        if call.digest in self._compiled:
            self._compiled.move_to_end(call.digest)
            return self._compiled[call.digest][0]
        if not call.texts:
            return None
        judge = _JUDGES[call.kind](call.name, call.texts)
        self._compiled[call.digest] = (judge, sum(map(len, call.texts.values())))
        self._forget_old_ones()
        return judge

    def _forget_old_ones(self) -> None:
        while len(self._compiled) > KEPT_SCHEMAS or (len(self._compiled) > 1 and self._kept() > KEPT_CHARACTERS):
            self._compiled.popitem(last=False)

    def _kept(self) -> int:
        return sum(size for _, size in self._compiled.values())


def _judged(judge: SchemaJudge, document: bytes | None) -> list[FoundFault]:
    if document is None:
        return []
    try:
        return judge.faults(document)
    except Refused as refusal:  # not well-formed, or more than is read: that is wrong with it
        return [make_fault(refusal.detail, _line(refusal))]


def _line(refusal: Refused) -> int:
    digits = refusal.pointer.removeprefix("line ").partition(",")[0]
    return int(digits) if digits.isdecimal() else 0


def load_engine(_: WorkerTerms) -> Callable[[bytes], WorkerOutcome]:
    """Load what validation needs, while it can still be loaded; return the function that answers a call."""
    cache = SchemaCache()
    cache.run_once()
    return lambda frame: cache.perform(read_call(frame))
