"""Evaluates the scripts of bindings in workers, with the interface of the query engine.

Rules: content that is too large for every script (bytes, values, elements) is never read in a worker, so that no
script is blamed for the message. Such a message has its header but no content; a script that reads the content gets
the reason as an error. No name of the header is left out. A decimal number becomes a float; a moment or a day its ISO
text (moments in UTC, so that texts sort like moments); a whole number over 64 bits a float; and a float that is not
finite None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite

import msgspec

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, WorkerOutcome, output_limit
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.confined.source_evaluator import SourceEvaluator
from postroad.adapters.scripts.frames import Plain, ScriptBatch, ScriptCheck, ScriptMessage, Shape
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused
from postroad.ports import ItemValue, QueryVerdict

LARGEST_CONTENT_BYTES = 4 * 1024 * 1024
MAX_VALUES = 200_000
MAX_ELEMENTS = 20_000

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)
_CODECS = {
    "utf-8": "utf-8-sig", "utf8": "utf-8-sig", "us-ascii": "ascii", "ascii": "ascii", "utf-16": "utf-16",
    "iso-8859-1": "latin-1", "latin1": "latin-1", "windows-1252": "cp1252", "cp1252": "cp1252",
}  # fmt: skip
_XML_STARTS = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe<\x00", b"\xfe\xff\x00<", b"<\x00", b"\x00<")


def read_content(content: bytes, media_type: str) -> ScriptMessage:
    """The content without a header."""
    if len(content) > LARGEST_CONTENT_BYTES:
        fault = f"it has {len(content)} bytes; scripts can read at most {LARGEST_CONTENT_BYTES}"
        return ScriptMessage(media_type=media_type, fault=fault)
    shape = _shape(content, media_type)
    if shape != "xml":
        return _make_script_message(content, media_type, shape)
    try:
        text = to_utf8(content).decode()
    except (Refused, UnicodeDecodeError) as fault:
        return _make_script_message(content, media_type, "", _words(fault))
    return _limited(text, media_type, shape)


def _make_script_message(content: bytes, media_type: str, shape: Shape, why: str = "") -> ScriptMessage:
    """Decodes the content in the charset of its content type; ``why`` explains content that is not parsed."""
    try:
        text = _decoded(content, media_type)
    except (UnicodeDecodeError, LookupError) as fault:
        return ScriptMessage(media_type=media_type, fault=why or _words(fault))
    return ScriptMessage(text=text, media_type=media_type, fault=why) if why else _limited(text, media_type, shape)


def _limited(text: str, media_type: str, shape: Shape) -> ScriptMessage:
    too_much = _too_much(text, shape)
    return ScriptMessage(text=text, shape="" if too_much else shape, media_type=media_type, fault=too_much)


def _shape(content: bytes, media_type: str) -> Shape:
    name = media_type.partition(";")[0].strip().lower()
    if name.endswith(("/json", "+json")):
        return "json"
    return "xml" if name.endswith(("/xml", "+xml")) or content.lstrip().startswith(_XML_STARTS) else ""


def _decoded(content: bytes, media_type: str) -> str:
    named = _CHARSET.search(media_type)
    charset = named[1].lower() if named else "utf-8"
    if charset not in _CODECS:
        raise LookupError(f"the character set {charset[:40]} is not supported")
    return content.decode(_CODECS[charset])


def _too_much(text: str, shape: Shape) -> str:
    if shape == "json" and sum(map(text.count, ",[{")) > MAX_VALUES:
        return f"it may have more than the {MAX_VALUES} values that scripts can read"
    if shape == "xml" and text.count("<") - text.count("</") > MAX_ELEMENTS:
        return f"it may have more than the {MAX_ELEMENTS} elements that scripts can read"
    return ""


def _words(fault: Exception) -> str:
    if isinstance(fault, UnicodeDecodeError):
        return f"byte {fault.start} is not a character in {fault.encoding}"
    return fault.detail if isinstance(fault, Refused) else str(fault.args[0])


_LARGEST = 2**63
_NO_CHARACTER = "utf-8", "replace"


def to_starlark_headers(items: Mapping[str, ItemValue]) -> dict[str, Plain]:
    return {_text(name): _plain(value) for name, value in items.items()}


def _plain(value: ItemValue) -> Plain:
    match value:
        case str():
            return _text(value)
        case bool():
            return value
        case int():
            return value if -_LARGEST <= value < _LARGEST else _finite(value)
        case Decimal() | float():
            return _finite(value)
        case datetime():
            return _moment(value)
        case date():
            return value.isoformat()
        case _:
            return [_plain(one) for one in value]


def _finite(value: int | float | Decimal) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _moment(value: datetime) -> str:
    try:
        utc = value.astimezone(UTC) if value.tzinfo else value
    except OverflowError:  # in the first or last hours of all years, which are in another year there
        return value.isoformat()
    return utc.isoformat().removesuffix("+00:00") + "Z"


def _text(text: str) -> str:
    """Without lone surrogates, which are no characters."""
    return text.encode(*_NO_CHARACTER).decode()


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


class ScriptWorkers(WorkerPool):
    """Runs scripts. Starts nothing before the first script is evaluated."""

    engine = "postroad.adapters.scripts.engine"
    label = "script"
