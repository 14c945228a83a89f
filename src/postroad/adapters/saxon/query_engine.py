"""Saxon evaluating queries: many about one document in one call. Runs only in a worker process.

Rules: a query is compiled once and cached by its whole text; the least recently used are removed first. An error of
one query is that query's answer; an error of no single query (an unreadable document, too much output) is the outcome
of the batch.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from saxonche import PySaxonApiError

from postroad.adapters.confined.frames import UNREADABLE, SourceAnswer, SourceAnswers, WorkerOutcome
from postroad.adapters.saxon.error_text import LONGEST_DETAIL
from postroad.adapters.saxon.frames import QueryBatch
from postroad.adapters.saxon.query_text import EngineText, QueryText, read_query
from postroad.adapters.saxon.result_queries import KINDS, MANY, ONE, WITHOUT_TEXT

KEPT_QUERIES = 4_000  # some 15 KB each
KEPT_CHARACTERS = 4_000_000
NUL = "\0"  # would cut a text short on its way into Saxon
JSON_DEPTH = 200
INVALID = "query.invalid"
NO = SourceAnswer("no")
TOO_MUCH = WorkerOutcome(code="transform.output-too-large", detail="the results together have more bytes than allowed")

_JSON_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_PLACE = re.compile(r"\bon line (\d+)(?: at)?(?: column (\d+))?")
_CHARACTER = re.compile(r"\bat char (\d+)")  # Saxon counts so if there is one line
_PREFACE = re.compile(r"^(?:\w+ )?[Ee]rror .*? of file:\S*\s+")
_OURS = re.compile(r" before \.\.\..*")
_FAULT = re.compile(r"^\s*([A-Z]{4}\d{4})\s+(.*\S)\s*$", re.MULTILINE)
_STATIC = re.compile(r"X[PQ]ST\d{4}")


class CompiledQuery(NamedTuple):
    """An array of a function and its output options; or, for a query that runs as a whole, its text and the options alone."""

    function: Any
    whole: str = ""
    options: Any = None


class SaxonQueryEngine:
    """The queries that a processor has compiled."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._many = self._value(MANY).head
        self._one = self._value(ONE).head
        self._compiled: OrderedDict[tuple[str, bool], CompiledQuery] = (
            OrderedDict()
        )  # by text, and whether for JSON null
        self._characters = 0

    def check(self, query: str) -> WorkerOutcome:
        """Compiles the query, and reports where that fails."""
        try:
            text = read_query(_without_nul(query))
        except ValueError as fault:
            return WorkerOutcome(code=INVALID, detail=str(fault))
        if text.blank:
            return WorkerOutcome(code=INVALID, detail="it is empty")
        if not text.whole and not (outcome := self._checked_as_function(text)).code:
            return outcome
        return self._checked_as_whole(text) if text.whole or text.functions else outcome

    def _checked_as_function(self, text: QueryText) -> WorkerOutcome:
        # A body that closes one kind of bracket too many does not pass in the other kind.
        for form in (text.as_function("array {", "}"), text.as_function()):
            try:
                self._value(form.text)
            except PySaxonApiError as fault:
                return _complaint(str(fault), form)
        return WorkerOutcome()

    def _checked_as_whole(self, text: QueryText) -> WorkerOutcome:
        """Compile the query by running it without a message; errors due to the missing message are ignored."""
        form = text.as_whole()
        try:
            self._value(form.text)
        except PySaxonApiError as fault:
            said = _FAULT.search(str(fault))
            if said is None or _STATIC.match(said[1]):
                return _complaint(str(fault), form)
        return WorkerOutcome()

    def answer(self, batch: QueryBatch) -> SourceAnswers | WorkerOutcome:
        try:
            message = self._message(batch)
        except (PySaxonApiError, UnicodeDecodeError, ValueError) as fault:
            words = " ".join(str(fault).split())
            return WorkerOutcome(code=UNREADABLE, detail=f"the document cannot be read: {words}"[:LONGEST_DETAIL])
        items = {name: self._item(*typed) for name, typed in batch.items.items()}
        answers = self._answers(batch.queries, message, items)
        if sum(len(answer.text) for answer in answers) > batch.output_limit:
            return TOO_MUCH
        return SourceAnswers(tuple(answers))

    # ---- what is asked about

    def _message(self, batch: QueryBatch) -> Any:
        """The document; None for a JSON null."""
        text = _without_nul(batch.document.decode())
        if batch.is_json:
            _check_depth(text)
            return self._processor.parse_json(json_text=text, encoding="UTF-8")
        return self._processor.parse_xml(xml_text=text, encoding="UTF-8")

    def _item(self, kind: str, text: str) -> Any:
        if kind == "xml":
            return self._processor.parse_xml(xml_text=text, encoding="UTF-8").children[0]
        return self._processor.make_atomic_value(kind, text)

    # ---- answers

    def _answers(self, queries: Sequence[str], message: Any, items: dict[str, Any]) -> list[SourceAnswer]:
        answers: list[SourceAnswer | None] = [None] * len(queries)
        functions: dict[int, Any] = {}
        for place, query in enumerate(queries):
            try:
                compiled = self._kept(query, message is None)
            except (PySaxonApiError, ValueError) as fault:
                answers[place] = _error(str(fault))
                continue
            if compiled.function is None:
                answers[place] = self._run(compiled, message, items)
            else:
                functions[place] = compiled.function
        for place, answer in zip(functions, self._call(list(functions.values()), message, items), strict=True):
            answers[place] = answer
        return [answer or NO for answer in answers]

    def _call(self, functions: list[Any], message: Any, items: dict[str, Any]) -> list[SourceAnswer]:
        if not functions:
            return []
        known = self._processor.make_map2(
            {"-": self._processor.make_boolean_value(True), **items}
        )  # none would be no map
        told = self._many.call([self._processor.make_array(functions), self._sequence(message), known])
        letters, place = told.item_at(0).string_value, 0
        answers = []
        for letter in letters:
            place += letter not in WITHOUT_TEXT
            answers.append(NO if letter == "0" else _answer(letter, told, place))
        return answers

    def _run(self, compiled: CompiledQuery, message: Any, items: dict[str, Any]) -> SourceAnswer:
        xquery = self._processor.new_xquery_processor()
        xquery.set_query_content(compiled.whole)
        if message is not None:
            xquery.set_context(xdm_item=message)
        for name, value in {**items, "msg": self._sequence(message)}.items():
            xquery.set_parameter(name, value)
        try:
            result = xquery.run_query_to_value()
        except PySaxonApiError as fault:
            return _error(str(fault))
        if result is None:
            return NO
        told = self._one.call([result, self._sequence(message), self._sequence(compiled.options)])
        return _answer(told.item_at(0).string_value, told, 1)

    def _sequence(self, item: Any) -> Any:
        return self._processor.empty_sequence() if item is None else item

    # ---- compiling

    def _kept(self, query: str, is_null: bool) -> CompiledQuery:
        key = query, is_null
        if key in self._compiled:
            self._compiled.move_to_end(key)
            return self._compiled[key]
        compiled = self._compiled[key] = self._compile(read_query(_without_nul(query)), is_null)
        self._characters += len(query)
        while len(self._compiled) > KEPT_QUERIES or self._characters > KEPT_CHARACTERS:
            (forgotten, _), _ = self._compiled.popitem(last=False)
            self._characters -= len(forgotten)
        return compiled

    def _compile(self, text: QueryText, is_null: bool) -> CompiledQuery:
        if not text.whole:
            try:
                return CompiledQuery(self._value(text.as_function(is_null=is_null).text).head)
            except PySaxonApiError:
                if not text.functions:
                    raise
        options = self._value(text.output_parameters()).head if text.output else None
        return CompiledQuery(None, text.as_whole().text, options)

    def _value(self, query: str) -> Any:
        xquery = self._processor.new_xquery_processor()
        xquery.set_query_content(query)
        return xquery.run_query_to_value()


def _check_depth(text: str) -> None:
    """So that no query can be blamed for the depth of a document."""
    depth = 0
    for token in _JSON_NESTING.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > JSON_DEPTH:
            raise ValueError(f"it is nested more than {JSON_DEPTH} deep")


def _without_nul(text: str) -> str:
    if NUL in text:
        raise ValueError("it has a NUL character, which XML does not allow")
    return text


def _answer(letter: str, told: Any, place: int) -> SourceAnswer:
    text = "" if letter in WITHOUT_TEXT else told.item_at(place).string_value
    return SourceAnswer(KINDS[letter], (text[:LONGEST_DETAIL] if letter == "e" else text).encode())


def _error(fault: str) -> SourceAnswer:
    place = _PLACE.search(fault)
    return SourceAnswer("error", (f"line {place[1]}: " if place else "").encode() + _words(fault).encode())


def _complaint(fault: str, form: EngineText) -> WorkerOutcome:
    place = _PLACE.search(fault)
    char = _CHARACTER.search(fault)
    found = (int(place[1]), int(place[2] or 0)) if place else (1, int(char[1])) if char else (0, 0)
    line, column = form.place(*found)
    if line > (last := form.lines):
        line, column = last, 0
    return WorkerOutcome(code=INVALID, detail=_words(fault), line=line, column=column)


def _words(fault: str) -> str:
    """Saxon's words without the text that it quotes, which has ours in it."""
    said = _FAULT.search(fault)
    words = f"{said[1]}: {said[2]}" if said else _PREFACE.sub("", " ".join(fault.split()))
    return _OURS.sub("", words)[:LONGEST_DETAIL]
