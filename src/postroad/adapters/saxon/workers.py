"""The server's pool of Saxon workers: runs stylesheets and queries, and words their refusals.

Rules: no part of Saxon is ever loaded into the server, only into the pool's processes. Saxon is locked with all settings
before anything is parsed, and a setting that it does not accept stops the worker's start. No single setting is enough:
``allowedProtocols`` prevents reading but not writing, prevents external entities only until the first parse, and is lost
by a ``transform()`` with its own configuration. So the process is confined, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, SourceAnswers, output_limit
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.saxon.frames import SaxonCall, Setting, Task
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused, Unavailable

_FEATURE = "http://saxon.sf.net/feature/"

SETTINGS: tuple[Setting, ...] = (
    # No document type declaration: no entities, internal or external, in whatever is parsed.
    (f"{_FEATURE}parserFeature?uri=http%3A//apache.org/xml/features/disallow-doctype-decl", "true"),
    # No address can be read: doc(), unparsed-text(), collection(), include, import.
    (f"{_FEATURE}allowedProtocols", ""),
    # No extension functions, no environment variables, and nothing written by xsl:result-document.
    (f"{_FEATURE}allow-external-functions", "false"),
    # A runaway regular expression gives up after about a second instead of costing the worker its life.
    (f"{_FEATURE}regexBacktrackingLimit", "1000000"),
)


ENGINE = "postroad.adapters.saxon.engine"


class SaxonWorkers(WorkerPool):
    """Compiles and applies stylesheets, and answers queries. All methods belong to one event loop."""

    engine = ENGINE
    label = "saxon"
    settings = SETTINGS

    async def check(self, stylesheet: str) -> None:
        """Compile a stylesheet; raises Refused with ``stylesheet.invalid``, the line and the error if that fails."""
        await self._perform(SaxonCall(task="check", source=_checked(stylesheet)))

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        """The document as the stylesheet makes it, in UTF-8, in the method that its ``xsl:output`` names."""
        return await self._perform(_work("transform", stylesheet, document, parameters))

    async def query(self, query: str, document: bytes) -> bytes:
        """The serialized answer to an XQuery about the document."""
        return await self._perform(_work("query", query, document, {}))

    async def _perform(self, work: SaxonCall) -> bytes:
        outcome = await self.checked_attempt(work)
        if isinstance(outcome, SourceAnswers):
            raise Unavailable(
                "network.unavailable", "A transform worker returned an unexpected response; try again in a moment"
            )
        if outcome.code:
            place = f"line {outcome.line}" if outcome.line else ""
            detail = f"{place}: {outcome.detail}" if place else outcome.detail
            raise Refused(outcome.code, _advice(outcome.code, detail), pointer=place)
        return outcome.output


def _work(task: Task, source: str, document: bytes, parameters: Mapping[str, str]) -> SaxonCall:
    utf8 = to_utf8(document)
    return SaxonCall(
        task=task,
        source=_checked(source),
        document=utf8,
        parameters=dict(parameters),
        output_limit=output_limit(len(utf8)),
    )


def _checked(source: str) -> str:
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Refused("stylesheet.invalid", "The text is not Unicode; send it in UTF-8") from None
    if size > LARGEST_SOURCE_BYTES:
        detail = f"The stylesheet has {size} bytes; at most {LARGEST_SOURCE_BYTES} are allowed; split it into several services"
        raise Refused("stylesheet.invalid", detail)
    return source


def _advice(code: str, detail: str) -> str:
    if code == "stylesheet.invalid":
        return f"The stylesheet does not compile: {detail}"
    return f"The transformation failed: {detail}. Correct the stylesheet or the document"
