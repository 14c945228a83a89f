"""Evaluates the scripts of bindings in workers, with the interface of the query engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, WorkerOutcome, output_limit
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.confined.source_evaluator import SourceEvaluator
from postroad.adapters.scripts.content import read_content
from postroad.adapters.scripts.frames import ScriptBatch, ScriptCheck
from postroad.adapters.scripts.headers import to_starlark_headers
from postroad.errors import Refused
from postroad.ports import ItemValue, QueryVerdict

INVALID = "script.invalid"


class StarlarkScripts:
    """Scripts over a pool of workers; closing is the pool's."""

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers
        self._asking = SourceEvaluator(workers, "script")

    async def check(self, script: str) -> None:
        """Compile a script; raises Refused with ``script.invalid``, location and error if that fails or ``route`` is missing."""
        _check_size(script)
        outcome = await self._workers.attempt(ScriptCheck(script))
        if isinstance(outcome, WorkerOutcome) and outcome.code:
            place = f"line {outcome.line}" if outcome.line else ""
            place += f", column {outcome.column}" if outcome.column else ""
            detail = f"{place}: {outcome.detail}" if place else outcome.detail
            raise Refused(INVALID, f"The script is not valid: {detail}", pointer=place)

    async def evaluate(
        self, scripts: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        """Return the verdicts of all scripts about one message, in order; an error of one affects no other."""
        message = msgspec.structs.replace(read_content(content, media_type), headers=to_starlark_headers(items))
        limit = output_limit(len(content))

        def about(asked: Sequence[str]) -> ScriptBatch:
            return ScriptBatch(scripts=tuple(asked), message=message, output_limit=limit)

        return await self._asking.verdicts(scripts, about)


def _check_size(script: str) -> None:
    try:
        size = len(script.encode())
    except UnicodeEncodeError:
        raise Refused(INVALID, "The text is not Unicode; send it in UTF-8") from None
    if size > LARGEST_SOURCE_BYTES:
        detail = f"The script has {size} bytes; at most {LARGEST_SOURCE_BYTES} are allowed"
        raise Refused(INVALID, detail)
