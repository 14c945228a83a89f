"""Converts a query as its author wrote it to the text that the engine compiles once and runs for every message.

The engine compiles a query again for each run, except when its result is a function. So the body becomes the body of
a function of the message and its variables: ``$msg``, and every name that the query uses, bound to the header item,
property or routing key with that name, or to nothing if there is none. A query that computes global variables, or
whose functions use external variables, cannot be converted: it is run *as a whole*, with the same variables, and is
compiled each time.

Rules: the author's text stays on its line, so errors name the author's lines. Only the end of the declarations is
parsed; a wrong guess does not compile, because neither half would be complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

SERIALIZATION = "http://www.w3.org/2010/xslt-xquery-serialization"
OURS = "Q{urn:postroad:exchange}"

_NAME = r"[^\W\d][\w.\-]*"
_STRING = r'(?:"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\')'
_GAP = r"(?:\s|\(:(?:[^:(]|:(?!\))|\((?!:))*:\))"  # white space, or a comment without another one in it
_VERSION = re.compile(rf"xquery{_GAP}+(?:version|encoding){_GAP}+{_STRING}(?:{_GAP}+encoding{_GAP}+{_STRING})?{_GAP}*;")
_NAMESPACE = re.compile(rf"declare{_GAP}+namespace{_GAP}+({_NAME}){_GAP}*={_GAP}*({_STRING}){_GAP}*;")
_EXTERNAL = re.compile(
    rf"declare{_GAP}+variable{_GAP}+\$\s*({_NAME}){_GAP}*(?:as{_GAP}((?:(?!:=)[^;])*?))?external{_GAP}*;", re.DOTALL
)
_OPTION = re.compile(rf"declare{_GAP}+option{_GAP}+(?:({_NAME}):|Q\{{([^{{}}]*)\}})({_NAME}){_GAP}+({_STRING}){_GAP}*;")
_SETTERS = "default|boundary-space|base-uri|construction|ordering|copy-namespaces|decimal-format"
_SETTER = re.compile(rf"(?:declare{_GAP}+(?:{_SETTERS})|import)\b[^;'\"]*(?:{_STRING}[^;'\"]*)*;")
_FUNCTION = re.compile(rf"declare{_GAP}+(?:%\S+\s+)*function\b")
_WHOLE = re.compile(rf"(?:declare{_GAP}+(?:%\S+\s+)*(?:variable|context)|module)\b")
_COMMENTS = re.compile(f"{_GAP}+")
_USED = re.compile(rf"\$\s*({_NAME})(?![\w.\-]|:[^=:])")
_TOKEN = re.compile(rf"\(:|:\)|{_STRING}|[{{}};]")
_COMMENT = re.compile(r"\(:|:\)")
_OWN_VARIABLE = re.compile(rf"declare{_GAP}+(?:%\S+\s+)*variable{_GAP}+\$\s*({_NAME})")
_PROMOTED = ("xs:double", "xs:float")
_NOT_LINE_END = re.compile(r"[^\r\n]")


class EngineText(NamedTuple):
    """A text for the engine: the author's words, with ours in between."""

    before: str
    ours: str
    after: str

    @property
    def text(self) -> str:
        return self.before + self.ours + self.after

    @property
    def lines(self) -> int:
        """How many the author wrote, at most."""
        return self.text.count("\n") + (not self.ours.startswith("["))

    def place(self, line: int, column: int) -> tuple[int, int]:
        """A line and column of the text, as the author counts them."""
        start = len(self.before) - self.before.rfind("\n")
        behind = line == 1 + self.before.count("\n") and column > start
        return line, max(start, column - len(self.ours)) if behind else column


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryText:
    """The parts of a query, in the order in which they appear."""

    settings: str  # namespaces and the like; what was declared external is blanked out
    functions: str
    body: str
    types: dict[str, str]  # of the variables that were declared external; may be empty
    output: dict[str, str]  # what ``declare option output:…`` says
    whole: bool = False  # whether it can only be run as a whole; then ``body`` has all that follows the settings

    @property
    def blank(self) -> bool:
        return not self.body.strip()

    def as_function(self, opening: str = "(", closing: str = ")", *, is_null: bool = False) -> EngineText:
        """Return an array: a function of the message and a map of the variables, then the output options, if any.

        ``is_null``: the message is a JSON null, which is the empty sequence, so there is no context item.
        """
        _, *names = self._names(self.body)
        lets = "".join(f"let ${name}{self._type(name)} := {self._item(name)} " for name in names)
        context = "" if is_null else "$msg ! "
        ours = (
            f"[function(${OURS}m, ${OURS}h) {{ let $msg{self._type('msg')} := ${OURS}m {lets}return {context}{opening}"
        )
        options = f", {self.output_parameters()}" if self.output else ""
        return EngineText(self.settings + self.functions, ours, f"{self.body}\n{closing} }}{options}]")

    def as_whole(self) -> EngineText:
        """Return a query of its own, with its variables declared external."""
        rest = self.functions + self.body
        own = set(_OWN_VARIABLE.findall(rest))
        names = [name for name in self._names(rest) if name not in own]
        ours = "".join(f"declare variable ${name}{self._type(name)} external{self._absent(name)}; " for name in names)
        return EngineText(self.settings, ours, rest)

    def _item(self, name: str) -> str:
        """The item of that name; a number is promoted where a double or float is declared, as in a function's argument."""
        declared = self.types.get(name, "").rstrip("?*+ ")
        item = f"${OURS}h('{name}')"
        return f"{item} ! (if (. instance of xs:decimal) then {declared}(.) else .)" if declared in _PROMOTED else item

    def _absent(self, name: str) -> str:
        """The expression used when the item is missing: empty if its type allows that, otherwise an error."""
        return " := ()" if (self.types.get(name) or "item()*").endswith(("?", "*")) else ""

    def _names(self, text: str) -> list[str]:
        """Return the variables to bind for that text, ``msg`` first."""
        return list(dict.fromkeys(["msg", *self.types, *_USED.findall(text)]))

    def output_parameters(self) -> str:
        """An element constructor for the output options."""
        said = "".join(f'<o:{name} value="{{{value}}}"/>' for name, value in self.output.items() if name != "encoding")
        return f"<o:serialization-parameters xmlns:o='{SERIALIZATION}'>{said}</o:serialization-parameters>"

    def _type(self, name: str) -> str:
        return f" as {self.types[name]}" if self.types.get(name) else ""


@dataclass(slots=True)
class _Reader:
    """Reads the declarations one after the other."""

    text: str
    at: int = 0
    settings: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    output: dict[str, str] = field(default_factory=dict)
    prefixes: set[str] = field(default_factory=lambda: {"output"})

    def read(self) -> QueryText:
        while self._space() or self._setting():
            pass
        start = self.at
        self._skip_functions()
        whole = bool(_WHOLE.match(self.text, self.at))
        self.output.update(
            (found[3], found[4]) for found in _OPTION.finditer(self.text, self.at) if self._is_output(found)
        )
        return QueryText(
            settings="".join(self.settings),
            functions="" if whole else self.text[start : self.at],
            body=self.text[start if whole else self.at :],
            types=self.types,
            output=self.output,
            whole=whole,
        )

    def _is_output(self, option: re.Match[str]) -> bool:
        return option[1] in self.prefixes or option[2] == SERIALIZATION

    def _space(self) -> bool:
        end = _after_space(self.text, self.at)
        self.settings.append(self.text[self.at : end])
        moved, self.at = end > self.at, end
        return moved

    def _setting(self) -> bool:
        if found := _EXTERNAL.match(self.text, self.at):
            self.types[found[1]] = _COMMENTS.sub(" ", found[2] or "").strip()
            return self._take(found, _NOT_LINE_END.sub(" ", found[0]))
        if found := _NAMESPACE.match(self.text, self.at):
            if found[2][1:-1] == SERIALIZATION:
                self.prefixes.add(found[1])
        elif found := _OPTION.match(self.text, self.at):
            if self._is_output(found):
                self.output[found[3]] = found[4]
        else:
            found = _VERSION.match(self.text, self.at) or _SETTER.match(self.text, self.at)
        return found is not None and self._take(found, found[0])

    def _take(self, found: re.Match[str], kept: str) -> bool:
        self.settings.append(kept)
        self.at = found.end()
        return True

    def _skip_functions(self) -> None:
        while _FUNCTION.match(self.text, self.at):
            self.at = _after_space(self.text, _after_declaration(self.text, self.at))


def _after_space(text: str, at: int) -> int:
    """Behind white space and comments."""
    while at < len(text) and (text[at].isspace() or text.startswith("(:", at)):
        at = _after_comment(text, at) if text[at] == "(" else at + 1
    return at


def _after_comment(text: str, start: int) -> int:
    depth = 0
    for token in _COMMENT.finditer(text, start):
        depth += 1 if token[0] == "(:" else -1
        if depth == 0:
            return token.end()
    return len(text)


def _after_declaration(text: str, start: int) -> int:
    """Return the position after the semicolon that ends the declaration, found without parsing its contents."""
    depth, at = 0, start
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token[0] == "(:":
            at = _after_comment(text, token.start())
        elif token[0] in "{}":
            depth += 1 if token[0] == "{" else -1
        elif token[0] == ";" and depth <= 0:
            return at
    return len(text)


def read_query(text: str) -> QueryText:
    return _Reader(text).read()
