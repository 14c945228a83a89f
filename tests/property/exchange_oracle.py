"""Which outcomes XQuery permits: a second reading of the specification, over documents and queries that are plain Python data.

It shares no code with the product: it has its own documents, its own queries (which it can write down as XQuery), and finds every
answer by looking at everything. Outcomes are T, F and E (an error). The specification leaves several open: an existential
comparison over values of which one passes and another cannot be read may be true or an error; ``and``, ``or``, ``some`` and
``every`` may look at their parts in any order and stop early; a predicate that may fail leaves open which nodes there are.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any
from xml.sax.saxutils import escape, quoteattr

Outcomes = frozenset[str]
T, F, E = frozenset("T"), frozenset("F"), frozenset("E")
ANY = T | F | E
Atom = str | bool | int | float | Decimal | date
Header = Mapping[str, Any]

MAX_DOUBTFUL = 6  # nodes of which it is open whether they are there; with more, everything is permitted
NAMESPACES = {"p": "urn:p", "q": "urn:q"}

# ---- documents


@dataclass(eq=False)
class Node:
    kind: str  # document, element, attribute, text, comment, instruction
    name: tuple[str, str] = ("", "")  # namespace and local name
    value: str = ""
    attributes: list[Node] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    spelling: str = ""  # how a text is written down, if not plainly; what else an element declares

    @property
    def text(self) -> str:
        if self.kind not in ("document", "element"):
            return self.value
        return "".join(child.text for child in self.children if child.kind in ("element", "text"))

    @property
    def markup(self) -> str:
        if self.kind == "text":
            return self.spelling or escape(self.value)
        if self.kind == "comment":
            return f"<!--{self.value}-->"
        if self.kind == "instruction":
            return f"<?i {self.value}?>"
        inner = "".join(child.markup for child in self.children)
        if self.kind == "document":
            return inner
        given = "".join(f" {written(one.name)}={quoteattr(one.value)}" for one in self.attributes)
        return f"<{written(self.name)}{self.spelling}{given}>{inner}</{written(self.name)}>"

    def descend(self) -> Iterator[Node]:
        """This node and all below it, in document order; attributes are not below."""
        yield self
        for child in self.children:
            yield from child.descend()


def written(name: tuple[str, str]) -> str:
    prefix = next((prefix for prefix, namespace in NAMESPACES.items() if namespace == name[0]), "")
    return f"{prefix}:{name[1]}" if prefix else name[1]


# ---- queries


@dataclass(frozen=True)
class Step:
    test: str  # a, *, p:a, p:*, *:a, @a, @*, @p:a, text()
    deep: bool = False
    predicates: tuple[Condition | Position, ...] = ()

    @property
    def query(self) -> str:
        return ("//" if self.deep else "/") + self.test + "".join(f"[{one.query}]" for one in self.predicates)

    def takes(self, node: Node) -> bool:
        if self.test == "text()":
            return node.kind == "text"
        if node.kind != ("attribute" if self.test.startswith("@") else "element"):
            return False
        prefix, _, local = self.test.removeprefix("@").rpartition(":")
        if local not in ("*", node.name[1]):
            return False
        return prefix == "*" or (local == "*" and not prefix) or NAMESPACES.get(prefix, "") == node.name[0]

    def candidates(self, node: Node) -> Iterator[list[Node]]:
        """For each node that the step is taken from, those that the name fits, in their order."""
        for start in node.descend() if self.deep else [node]:
            yield [
                one for one in (start.attributes if self.test.startswith("@") else start.children) if self.takes(one)
            ]


@dataclass(frozen=True)
class Found:
    """The nodes that a path certainly leads to, those of which it is open, and whether finding them may fail."""

    sure: tuple[Node, ...]
    doubtful: tuple[Node, ...] = ()
    fails: bool = False

    def outcomes(self, judge: Callable[[list[Node]], Outcomes]) -> Outcomes:
        if len(self.doubtful) > MAX_DOUBTFUL:
            return ANY
        found: Outcomes = E if self.fails else frozenset()
        for there in product((True, False), repeat=len(self.doubtful)):
            extra = [node for node, is_there in zip(self.doubtful, there, strict=True) if is_there]
            found |= judge([*self.sure, *extra])
        return found


@dataclass(frozen=True)
class Position:
    """A predicate that is a number."""

    number: int

    @property
    def query(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class Path:
    steps: tuple[Step, ...]
    start: str = ""  # "", $msg, a variable, or . for the node that a predicate is tried on

    @property
    def query(self) -> str:
        return self.start + "".join(step.query for step in self.steps) or "."

    def find(self, here: Scene) -> Found:
        found = Found((here.nodes.get(self.start, here.document),))
        for step in self.steps:
            found = _step(step, found, here)
        return found


def _step(step: Step, before: Found, here: Scene) -> Found:
    sure: dict[int, Node] = {}
    doubtful: dict[int, Node] = {}
    fails = before.fails
    for node, certain in [*((node, True) for node in before.sure), *((node, False) for node in before.doubtful)]:
        for siblings in step.candidates(node):
            kept, open_ones, failed = _filtered(siblings, step.predicates, here)
            fails |= failed
            (sure if certain else doubtful).update({id(one): one for one in kept})
            doubtful.update({id(one): one for one in open_ones})
    return Found(tuple(sure.values()), tuple(node for key, node in doubtful.items() if key not in sure), fails)


def _filtered(nodes: list[Node], predicates: tuple[Any, ...], here: Scene) -> tuple[list[Node], list[Node], bool]:
    open_ones: list[Node] = []
    fails = False
    for predicate in predicates:
        if isinstance(predicate, Position):
            unsure = [*open_ones, *nodes] if open_ones else []
            nodes, open_ones = ([], unsure) if unsure else (nodes[predicate.number - 1 : predicate.number], [])
            continue
        said = {id(node): predicate.permitted(here.at(node)) for node in [*nodes, *open_ones]}
        fails |= any("E" in outcomes for outcomes in said.values())
        open_ones = [
            node for node in [*open_ones, *(node for node in nodes if said[id(node)] != T)] if said[id(node)] != F
        ]
        nodes = [node for node in nodes if said[id(node)] == T]
    return nodes, open_ones, fails


@dataclass(frozen=True)
class Scene:
    document: Node
    header: Header
    nodes: Mapping[str, Node] = field(default_factory=dict)

    def at(self, node: Node, variable: str = ".") -> Scene:
        return Scene(self.document, self.header, {**self.nodes, variable: node})


# ---- values

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
WORDS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def cast(kind: str, text: str) -> Atom | None:
    """The text as a value of that type, or None if it is none."""
    text = text.strip(" \t\r\n")
    if kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text)
    if kind == "double":
        special = {"INF": "inf", "+INF": "inf", "-INF": "-inf", "NaN": "nan"}
        return float(special.get(text, text)) if text in special or _NUMBER.fullmatch(text) else None
    if kind == "date":
        try:
            return date.fromisoformat(text) if _DATE.fullmatch(text) else None
        except ValueError:
            return None
    if kind == "decimal":
        return Decimal(text) if _DECIMAL.fullmatch(text) else None
    assert kind == "integer", kind
    return int(text) if _INTEGER.fullmatch(text) else None


def kind_of(value: Atom) -> str:
    """What an untyped value becomes when it is compared with that one."""
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "date" if isinstance(value, date) else "double"


def constant(value: Atom) -> str:
    if isinstance(value, bool):
        return "true()" if value else "false()"
    if isinstance(value, str):
        return "'" + value.replace("&", "&amp;").replace("'", "''") + "'"
    if isinstance(value, date):
        return f"xs:date('{value}')"
    return f"{value:e}" if isinstance(value, float) else str(value)


def truth(value: bool) -> Outcomes:
    return T if value else F


def all_of(parts: Iterable[Outcomes]) -> Outcomes:
    parts = list(parts)
    found = {"F"} if any("F" in part for part in parts) else set()
    found |= {"E"} if any("E" in part for part in parts) else set()
    return frozenset(found | ({"T"} if all("T" in part for part in parts) else set()))


def opposite(outcomes: Outcomes) -> Outcomes:
    return frozenset({"T": "F", "F": "T", "E": "E"}[one] for one in outcomes)


def any_of(parts: Iterable[Outcomes]) -> Outcomes:
    return opposite(all_of(map(opposite, parts)))


# ---- conditions


@dataclass(frozen=True)
class Compare:
    """``path = 'x'``: some value."""

    path: Path
    sign: str
    value: Atom
    mirrored: bool = False

    @property
    def query(self) -> str:
        if not self.mirrored:
            return f"{self.path.query} {self.sign} {constant(self.value)}"
        sign = self.sign.translate(str.maketrans("<>", "><"))
        return f"{constant(self.value)} {sign} {self.path.query}"

    def permitted(self, here: Scene) -> Outcomes:
        return self.path.find(here).outcomes(self._judge)

    def _judge(self, nodes: list[Node]) -> Outcomes:
        kind = kind_of(self.value)
        values = [node.text if kind == "string" else cast(kind, node.text) for node in nodes]
        right = float(self.value) if kind == "double" else self.value  # type: ignore[arg-type]
        passes = any(value is not None and SIGNS[self.sign](value, right) for value in values)
        found = (T if passes else frozenset()) | (E if None in values else frozenset())
        return found or F


@dataclass(frozen=True)
class CompareOne:
    """``path eq 'x'``: one value or none."""

    path: Path
    word: str
    value: str

    @property
    def query(self) -> str:
        return f"{self.path.query} {self.word} {constant(self.value)}"

    def permitted(self, here: Scene) -> Outcomes:
        return self.path.find(here).outcomes(self._judge)

    def _judge(self, nodes: list[Node]) -> Outcomes:
        if len(nodes) > 1:
            return E
        return truth(any(SIGNS[WORDS[self.word]](node.text, self.value) for node in nodes))


@dataclass(frozen=True)
class Converted:
    """``xs:decimal(path) > 5``, ``number(path) > 5``, ``count(path) > 5`` …"""

    function: str
    path: Path
    sign: str
    value: Atom

    @property
    def query(self) -> str:
        return f"{self.function}({self.path.query}) {self.sign} {constant(self.value)}"

    def permitted(self, here: Scene) -> Outcomes:
        return self.path.find(here).outcomes(self._judge)

    def _judge(self, nodes: list[Node]) -> Outcomes:
        if self.function == "count":
            return self._compared(len(nodes))
        if len(nodes) > 1:
            return E
        if self.function in ("string", "string-length", "number"):
            text = nodes[0].text if nodes else ""
            number = cast("double", text)
            values = {"string": text, "string-length": len(text), "number": float("nan") if number is None else number}
            return self._compared(values[self.function])
        if not nodes:
            return F
        value = cast(self.function.removeprefix("xs:"), nodes[0].text)
        return E if value is None else self._compared(value)

    def _compared(self, value: Any) -> Outcomes:
        right: Any = self.value
        if isinstance(value, float) or isinstance(right, float):
            value, right = float(value), float(right)
        return truth(SIGNS[self.sign](value, right))


@dataclass(frozen=True)
class TextTest:
    function: str  # contains, starts-with, ends-with, matches
    path: Path
    value: str

    @property
    def query(self) -> str:
        return f"{self.function}({self.path.query}, {constant(self.value)})"

    def permitted(self, here: Scene) -> Outcomes:
        return self.path.find(here).outcomes(self._judge)

    def _judge(self, nodes: list[Node]) -> Outcomes:
        if len(nodes) > 1:
            return E
        text = nodes[0].text if nodes else ""
        tests: dict[str, Callable[[], bool]] = {
            "contains": lambda: self.value in text,
            "starts-with": lambda: text.startswith(self.value),
            "ends-with": lambda: text.endswith(self.value),
            "matches": lambda: re.search(self.value, text, re.ASCII) is not None,
        }
        return truth(tests[self.function]())


@dataclass(frozen=True)
class Exists:
    function: str  # exists, boolean, empty, not, or nothing for the path alone
    path: Path

    @property
    def query(self) -> str:
        return f"{self.function}({self.path.query})" if self.function else self.path.query

    def permitted(self, here: Scene) -> Outcomes:
        is_there = self.path.find(here).outcomes(lambda nodes: truth(bool(nodes)))
        return opposite(is_there) if self.function in ("empty", "not") else is_there


@dataclass(frozen=True)
class HeaderTest:
    name: str
    sign: str
    value: Atom

    @property
    def query(self) -> str:
        return f"${self.name} {self.sign} {constant(self.value)}"

    def permitted(self, here: Scene) -> Outcomes:
        value = here.header.get(self.name)
        if value is None:
            return F
        if kind_of(value) != kind_of(self.value):
            return E
        right: Any = self.value
        if isinstance(value, float) or isinstance(right, float):
            value, right = float(value), float(right)
        return truth(SIGNS[self.sign](value, right))


@dataclass(frozen=True)
class Not:
    part: Condition

    @property
    def query(self) -> str:
        return f"not({self.part.query})"

    def permitted(self, here: Scene) -> Outcomes:
        return opposite(self.part.permitted(here))


@dataclass(frozen=True)
class Joined:
    word: str  # and, or
    parts: tuple[Condition, ...]

    @property
    def query(self) -> str:
        return "(" + f" {self.word} ".join(part.query for part in self.parts) + ")"

    def permitted(self, here: Scene) -> Outcomes:
        return (all_of if self.word == "and" else any_of)(part.permitted(here) for part in self.parts)


@dataclass(frozen=True)
class Quantified:
    word: str  # some, every
    path: Path
    condition: Condition  # over $v

    @property
    def query(self) -> str:
        return f"({self.word} $v in {self.path.query} satisfies {self.condition.query})"

    def permitted(self, here: Scene) -> Outcomes:
        join = any_of if self.word == "some" else all_of
        return self.path.find(here).outcomes(
            lambda nodes: join([self.condition.permitted(here.at(node, "$v")) for node in nodes])
        )


Condition = Compare | CompareOne | Converted | TextTest | Exists | HeaderTest | Not | Joined | Quantified


def permitted(condition: Condition, document: Node, header: Header) -> Outcomes:
    return condition.permitted(Scene(document, header))
