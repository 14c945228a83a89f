"""Starlark evaluating scripts about messages. Runs only in a worker process.

Rules: a message is built once for all scripts of a batch, and frozen; XML as a flat list of elements, each with the
index of its parent, so that no document is too deep for its encoding. Only a script's parsed text is cached; its
functions and globals are rebuilt for every message, so no state passes from one call to the next, and no script can
fill the memory of another. An error of one script is that script's answer, with its line and without quoted source.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import starlark
from starlark import AstModule, FileLoader, FrozenModule, Globals, Module, StarlarkError

from postroad.adapters.confined.frames import AnswerKind, SourceAnswer, SourceAnswers, WorkerOutcome, WorkerTerms
from postroad.adapters.scripts.frames import ScriptBatch, ScriptCheck, ScriptMessage, Shape, read_asked
from postroad.adapters.scripts.language import (
    ASK,
    GLOBALS,
    MEANING,
    MESSAGE,
    SCRIPT,
    TREE,
    TREE_GLOBALS,
    TRY,
    parse_script,
)
from postroad.core.codecs.xml import Tree, parse
from postroad.errors import Misconfigured, Refused

Attributes = dict[str | bytes, str | bytes]  # texts all of them; lxml's types do not say so

# place of the parent, local name, namespace, attributes, own text
Element = tuple[int, str, str, Attributes, str]


def list_elements(text: str) -> str:
    """In document order, as JSON."""
    return msgspec.json.encode(_elements(parse(text.encode()))).decode()


def _elements(root: Tree) -> list[Element]:
    places: dict[Tree | None, int] = {None: -1}
    elements: list[Element] = []
    for place, element in enumerate(root.iter("{*}*")):
        places[element] = place
        namespace, _, name = str(element.tag).rpartition("}")
        above = places[element.getparent()]
        elements.append((above, name, namespace[1:], dict(element.items()), _own_text(element)))
    return elements


def _own_text(element: Tree) -> str:
    """Without that of its children."""
    text = element.text or ""
    return text + "".join([child.tail or "" for child in element]) if len(element) else text


LONGEST_DETAIL = 900  # there is something to be said before and after

_FAULT = re.compile(r"^error: (?:fail: )?(.*?)\n {0,8}--> (\w+):(\d+):(\d+)", re.DOTALL | re.MULTILINE)
_CALLED = re.compile(rf"^  \* {SCRIPT}:(\d+), in ", re.MULTILINE)


class ScriptError(NamedTuple):
    """An error of a script. ``line`` is 0 if the error is in the call or the result, not in the script."""

    detail: str
    line: int = 0
    column: int = 0

    @property
    def words(self) -> str:
        return f"line {self.line}: {self.detail}" if self.line else self.detail


def read_script_error(fault: str) -> ScriptError:
    found = _FAULT.search(fault)
    if found is None:
        return ScriptError(" ".join(fault.split())[:LONGEST_DETAIL])
    detail = " ".join(found[1].split())[:LONGEST_DETAIL] or "it failed"
    if found[2] == SCRIPT:
        return ScriptError(detail, int(found[3]), int(found[4]))
    called = _CALLED.findall(fault, 0, found.start())
    return ScriptError(detail, int(called[-1]) if called else 0)


KEPT_SCRIPTS = 2_000
KEPT_CHARACTERS = 500_000  # at worst 150 bytes each
INVALID = "script.invalid"
KINDS: dict[str, AnswerKind] = {"no": "no", "same": "same", "text": "text", "json": "json"}
OUT_OF_MEMORY = WorkerOutcome(code="transform.memory", detail="it needs more memory than a script may use")
TOO_MUCH = WorkerOutcome(code="transform.output-too-large", detail="the results together have more bytes than allowed")

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;[ -~]*)?", re.ASCII)
_LONGEST_MEDIA_TYPE = 200
_LONGEST_PANIC = 200
_NOTHING = ScriptMessage()
_FIRST = "def route(message):\n    return message.json or message.xml.find('b/c') or message.nothing"
_FIRST_MESSAGES: tuple[tuple[Shape, str, str], ...] = (
    ("json", "[1.5]", "json"), ("json", "[1e400", "error"), ("xml", "<a><b><c/></b></a>", "error"),
)  # fmt: skip


class StarlarkEngine:
    """The scripts that this process has parsed."""

    def __init__(self) -> None:
        self._meaning = _frozen(MEANING)
        self._making = FileLoader({"tree": _frozen(TREE, TREE_GLOBALS)}.__getitem__)
        self._parsed: OrderedDict[str, AstModule] = OrderedDict()
        self._characters = 0

    def run_once(self) -> None:
        """Have everything loaded that a script needs, while it can still be loaded."""
        for shape, text, kind in _FIRST_MESSAGES:
            outcome = self.answer(
                ScriptBatch(scripts=(_FIRST,), message=ScriptMessage(text=text, shape=shape), output_limit=1_000)
            )
            if not isinstance(outcome, SourceAnswers) or outcome.answers[0].kind != kind:
                raise Misconfigured([f"Starlark does not work here: {outcome}"])
        self._parsed.clear()
        self._characters = 0

    def check(self, asked: ScriptCheck) -> WorkerOutcome:
        """Parse it, and call it with an empty message: that alone shows whether there is a ``route`` that takes one."""
        try:
            module = self._defined(asked.source)
        except BaseException as raised:  # what Rust panics with is no Exception
            return _refusal(_complaint(raised))
        try:
            starlark.eval(module, TRY, GLOBALS, self._loader(self._message(_NOTHING)[0]))
        except BaseException as raised:
            found = _complaint(raised)
            if not found.line:
                return _refusal(
                    ScriptError(f"it needs a function route with the message as its parameter: {found.detail}")
                )
        return WorkerOutcome()

    def answer(self, batch: ScriptBatch) -> SourceAnswers | WorkerOutcome:
        answers: list[SourceAnswer] = []
        left = batch.output_limit
        message, fault = self._message(batch.message)
        loader = self._loader(message)
        for script in batch.scripts:
            answers.append(self._answer(script, loader, fault))
            left -= len(answers[-1].text)
            if left < 0:
                return TOO_MUCH
        return SourceAnswers(tuple(answers))

    def _answer(self, script: str, loader: FileLoader, fault: str) -> SourceAnswer:
        try:
            told = starlark.eval(self._defined(script), ASK, GLOBALS, loader)
        except BaseException as raised:
            words = _complaint(raised).words
            return _error(f"{words} (the content cannot be read: {fault})" if fault else words)
        return _make_source_answer(told)

    def _message(self, told: ScriptMessage) -> tuple[FrozenModule, str]:
        """The message, and why its content is not there, if it is not."""
        try:
            values = told.text if told.shape == "json" else None
            elements = list_elements(told.text) if told.shape == "xml" and told.text is not None else None
            return self._made(told, values, elements), told.fault
        except Refused as fault:
            return self._made(told, None, None), fault.detail
        except BaseException as raised:
            return self._made(told, None, None), _complaint(raised).detail

    def _made(self, told: ScriptMessage, values: str | None, elements: str | None) -> FrozenModule:
        module = Module()
        module["text"], module["values"], module["elements"] = told.text, values, elements
        module["media_type"], module["headers"] = told.media_type, told.headers
        starlark.eval(module, MESSAGE, GLOBALS, self._making)
        return module.freeze()

    def _loader(self, message: FrozenModule) -> FileLoader:
        return FileLoader({"message": message, "meaning": self._meaning}.__getitem__)

    def _defined(self, script: str) -> Module:
        """Return a new module in which the script's functions are defined."""
        module = Module()
        starlark.eval(module, self._kept(script), GLOBALS)
        return module

    def _kept(self, script: str) -> AstModule:
        if script in self._parsed:
            self._parsed.move_to_end(script)
            return self._parsed[script]
        kept = self._parsed[script] = parse_script(script)
        self._characters += len(script)
        while len(self._parsed) > KEPT_SCRIPTS or self._characters > KEPT_CHARACTERS:
            forgotten, _ = self._parsed.popitem(last=False)
            self._characters -= len(forgotten)
        return kept


def _frozen(text: AstModule, names: Globals = GLOBALS) -> FrozenModule:
    module = Module()
    starlark.eval(module, text, names)
    return module.freeze()


def _make_source_answer(told: object) -> SourceAnswer:
    match told:
        case [str(kind)]:
            return SourceAnswer(KINDS[kind])
        case [str(kind), str(text)]:
            return SourceAnswer(KINDS[kind], text.encode())
        case [str(kind), str(text), str(media_type)]:
            if len(media_type) <= _LONGEST_MEDIA_TYPE and _MEDIA_TYPE.fullmatch(media_type):
                return SourceAnswer(KINDS[kind], text.encode(), media_type)
            return _error("route returned an invalid media_type; use one such as application/xml")
    raise TypeError(f"the meaning of a result is a list of texts, not {type(told).__name__}")


def _error(words: str) -> SourceAnswer:
    return SourceAnswer("error", words[: LONGEST_DETAIL + 100].encode())


def _refusal(found: ScriptError) -> WorkerOutcome:
    return WorkerOutcome(code=INVALID, detail=found.detail, line=found.line, column=found.column)


def _complaint(raised: BaseException) -> ScriptError:
    """Describe an error of the script; an error of this process itself is raised again, and ends it."""
    if isinstance(raised, StarlarkError):
        return read_script_error(str(raised))
    if type(raised).__name__ != "PanicException":
        raise raised
    if "out of memory" in str(raised):
        raise MemoryError from raised
    return ScriptError(f"the engine failed: {str(raised)[:_LONGEST_PANIC]}")


def load_engine(_: WorkerTerms) -> Callable[[bytes], SourceAnswers | WorkerOutcome]:
    """Load what Starlark needs, while it can still be loaded; return the function that answers a call."""
    engine = StarlarkEngine()
    engine.run_once()

    def answer(frame: bytes) -> SourceAnswers | WorkerOutcome:
        asked = read_asked(frame)
        try:
            return engine.answer(asked) if isinstance(asked, ScriptBatch) else engine.check(asked)
        except MemoryError:
            return OUT_OF_MEMORY

    return answer
