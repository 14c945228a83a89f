"""Saxon with its settings: compiles and applies stylesheets, and evaluates queries. Runs only in a worker process.

Rule: there is one processor per process and it is locked before it parses anything, because settings leak between the
processors of a process. Compiled stylesheets are cached by their text, and the least recently used are removed first.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from saxonche import PySaxonApiError, PySaxonProcessor

from postroad.adapters.confined.frames import SourceAnswers, WorkerOutcome, WorkerTerms
from postroad.adapters.confined.pipes import StandardErrorPipe
from postroad.adapters.saxon.error_text import refusal
from postroad.adapters.saxon.frames import QueryBatch, SaxonCall, Setting, read_work
from postroad.adapters.saxon.query_engine import SaxonQueryEngine
from postroad.errors import Misconfigured

KEPT_STYLESHEETS = 32
KEPT_CHARACTERS = 1_000_000
UTF_8 = "UTF-8"
OUT_OF_MEMORY = WorkerOutcome(code="transform.memory", detail="it needs more memory than a transformation may use")
NUL = "\0"  # would cut a text short on its way into Saxon, so that half of it would be read

_FIRST_STYLESHEET = (
    '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
    '<xsl:template match="/"><first><xsl:value-of select="current-dateTime()"/></first></xsl:template></xsl:stylesheet>'
)
_FIRST_QUERIES = (
    "current-dateTime() gt xs:dateTime('2000-01-01T00:00:00Z')",
    "<a>{.}</a>",
    "map{'a': matches('a', 'b')}",
)


class SaxonEngine:
    """One locked processor and the stylesheets that it has compiled."""

    def __init__(self, settings: tuple[Setting, ...], printed: StandardErrorPipe) -> None:
        self._processor = lock_processor(settings)
        self._xslt = self._processor.new_xslt30_processor()
        self._queries = SaxonQueryEngine(self._processor)
        self._printed = printed
        self._compiled: OrderedDict[str, Any] = OrderedDict()

    def run_once(self) -> None:
        """Have everything loaded that a transform needs, while it can still be loaded."""
        transformed = self.perform(
            SaxonCall(task="transform", source=_FIRST_STYLESHEET, document=b"<a/>", output_limit=1_000)
        )
        answered = self.answer(QueryBatch(queries=_FIRST_QUERIES, document=b"<a/>", output_limit=1_000))
        for outcome in (transformed, answered):
            if isinstance(outcome, WorkerOutcome) and outcome.code:
                raise Misconfigured([f"Saxon does not work here: {outcome.detail}"])
        self._compiled.clear()

    def answer(self, batch: QueryBatch) -> SourceAnswers | WorkerOutcome:
        self._printed.take()
        try:
            return self._queries.answer(batch)
        except MemoryError:
            return OUT_OF_MEMORY

    def perform(self, work: SaxonCall) -> WorkerOutcome:
        self._printed.take()  # what the call before left behind
        if NUL in work.source or b"\0" in work.document or any(NUL in value for value in work.parameters.values()):
            return WorkerOutcome(code="transform.failed", detail="it has a NUL character, which XML does not allow")
        try:
            return self._perform(work)
        except MemoryError:
            return OUT_OF_MEMORY

    def _perform(self, work: SaxonCall) -> WorkerOutcome:
        if work.task == "compile":
            return self._queries.check(work.source)
        try:
            executable = None if work.task == "query" else self._stylesheet(work.source)
        except PySaxonApiError as fault:
            return self._refusal("stylesheet.invalid", fault)
        if work.task == "check":
            return WorkerOutcome()
        try:
            node = self._document(work.document)
        except (PySaxonApiError, UnicodeDecodeError) as fault:
            return self._refusal("transform.failed", fault, "the document cannot be read: ")
        try:
            text = self._queried(work.source, node) if executable is None else self._applied(executable, node, work)
        except PySaxonApiError as fault:
            return self._refusal("transform.failed", fault)
        return _within_limit((text or "").encode(), work.output_limit)

    def _refusal(self, code: str, fault: Exception, what: str = "") -> WorkerOutcome:
        return refusal(code, str(fault), self._printed.take(), what)

    def _stylesheet(self, source: str) -> Any:
        if source in self._compiled:
            self._compiled.move_to_end(source)
            return self._compiled[source]
        self._document(source.encode())  # refuses a DTD, as the stylesheet compiler's own parser does only at times
        executable = self._xslt.compile_stylesheet(stylesheet_text=source, encoding=UTF_8)
        executable.set_property(
            "!encoding", UTF_8
        )  # Saxon hands out text; whatever xsl:output says, the bytes are UTF-8
        self._compiled[source] = executable
        self._forget_old_ones()
        return executable

    def _forget_old_ones(self) -> None:
        while len(self._compiled) > KEPT_STYLESHEETS or sum(map(len, self._compiled)) > KEPT_CHARACTERS:
            self._compiled.popitem(last=False)

    def _document(self, utf8: bytes) -> Any:
        return self._processor.parse_xml(xml_text=utf8.decode(), encoding=UTF_8)

    def _applied(self, executable: Any, node: Any, work: SaxonCall) -> str | None:
        executable.clear_parameters()
        for name, value in work.parameters.items():
            # Untyped, as if it stood in a document: it becomes whatever type the parameter declares.
            executable.set_parameter(name, self._processor.make_atomic_value("untypedAtomic", value))
        text: str | None = executable.transform_to_string(xdm_node=node)
        return text

    def _queried(self, query: str, node: Any) -> str | None:
        xquery = self._processor.new_xquery_processor()
        xquery.set_property("!encoding", UTF_8)
        xquery.set_context(xdm_item=node)
        text: str | None = xquery.run_query_to_string(query_text=query)
        return text


def load_engine(terms: WorkerTerms) -> Callable[[bytes], WorkerOutcome | SourceAnswers]:
    """Lock Saxon, and load what it needs while that can still be loaded; return the function that answers a call."""
    engine = SaxonEngine(terms.settings, StandardErrorPipe(int(sys.argv[-1])))
    engine.run_once()

    def answer(frame: bytes) -> WorkerOutcome | SourceAnswers:
        work = read_work(frame)
        return engine.answer(work) if isinstance(work, QueryBatch) else engine.perform(work)

    return answer


def lock_processor(settings: tuple[Setting, ...]) -> Any:
    """Return a processor that accepted every setting; raises Misconfigured with the names of those it did not accept."""
    processor = PySaxonProcessor(license=False)
    faults = [fault for setting in settings if (fault := _apply(processor, setting))]
    if faults:
        raise Misconfigured(faults)
    return processor


def _apply(processor: Any, setting: Setting) -> str:
    name, value = setting
    try:
        processor.set_configuration_property(name, value)
    except PySaxonApiError as fault:
        return f"Saxon does not accept the setting {name}={value!r}, so it would not be locked: {str(fault).strip()}"
    return ""


def _within_limit(output: bytes, limit: int) -> WorkerOutcome:
    if len(output) <= limit:
        return WorkerOutcome(output=output)
    return WorkerOutcome(
        code="transform.output-too-large",
        detail=f"its output has {len(output)} bytes; {limit} are allowed for this document",
    )
