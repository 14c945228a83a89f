"""The server's pool of confined workers that validate documents against schemas.

Rules: no schema is ever compiled in the server. A call names its schema by digest, and sends the texts if the worker
does not have them.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.adapters.confined.frames import SourceAnswers, WorkerOutcome
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.validation.frames import UNKNOWN, Validation, read_faults
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Refused, Unavailable

ENGINE = "postroad.adapters.validation.schema_cache"

# The pool's words for what happened to a call, whatever its engine.
_CODES = {
    "transform.timeout": "validation.timeout",
    "transform.memory": "validation.memory",
    "transform.output-too-large": "validation.failed",
    "transform.failed": "validation.failed",
    "transform.suspended": "validation.suspended",
}


class ValidationWorkers(WorkerPool):
    """Compiles schemas and judges documents by them. All methods belong to one event loop."""

    engine = ENGINE
    label = "validation"

    async def check(self, schema: Schema) -> None:
        """Compile a schema; raises Refused with ``schema.invalid``, the line and the error if that fails."""
        await self._perform(schema, None)

    async def validate(self, schema: Schema, document: bytes) -> tuple[DocumentFault, ...]:
        """Returns the first errors of the document; empty when it is valid."""
        output = await self._perform(schema, document)
        return tuple(DocumentFault(text=fault.text, line=fault.line, path=fault.path) for fault in read_faults(output))

    async def _perform(self, schema: Schema, document: bytes | None) -> bytes:
        call = Validation(digest=schema.digest, kind=schema.kind, name=schema.name, document=document)
        outcome = await self._asked(call)
        if outcome.code == UNKNOWN:
            outcome = await self._asked(replace(call, texts=dict(schema.texts)))
        if outcome.code:
            raise _refusal(outcome, schema)
        return outcome.output

    async def _asked(self, call: Validation) -> WorkerOutcome:
        try:
            outcome = await self.checked_attempt(call)
        except Refused as refusal:
            raise Refused(
                _CODES.get(refusal.code, refusal.code), refusal.detail.replace("stylesheet", "schema")
            ) from None
        if isinstance(outcome, SourceAnswers):
            raise Unavailable(
                "network.unavailable", "A validation worker returned an unexpected response; try again in a moment"
            )
        return outcome


def _refusal(outcome: WorkerOutcome, schema: Schema) -> Refused:
    place = f"line {outcome.line}" if outcome.line else ""
    detail = f"{place}: {outcome.detail}" if place else outcome.detail
    if outcome.code == "schema.invalid":
        return Refused(outcome.code, f"The schema {schema.name} is not valid: {detail}", pointer=place)
    code = _CODES.get(outcome.code, outcome.code)
    return Refused(
        code, f"Validation by {schema.name} failed: {detail}. Correct the schema, or make the document smaller"
    )
