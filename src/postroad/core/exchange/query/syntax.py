"""The syntax tree of a query, before analysis.

A name is ``(namespace, local)``; None in either place stands for any. Paths start at the document (``$msg``, ``/`` and, outside
of predicates, the context item), at the node that a predicate is tried on, or at a variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

Constant = str | bool | int | Decimal | float


class StepKind(Enum):
    __hash__ = object.__hash__  # they are hashed far more often than made, and an Enum does that by its name

    ELEMENT = "element"
    ATTRIBUTE = "attribute"
    TEXT = "text"
    SELF = "self"
    KEY = "key"  # of a map, after ?; any of a map or an array if it has no local name
    PLACE = "place"  # in an array, after ?

    @property
    def is_lookup(self) -> bool:
        """Whether it leads into a map or an array instead of to nodes."""
        return self in (StepKind.KEY, StepKind.PLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifiedName:
    namespace: str | None
    local: str | None

    def fits(self, namespace: str, local: str) -> bool:
        return self.local in (None, local) and self.namespace in (None, namespace)

    def __str__(self) -> str:
        space = "*:" if self.namespace is None and self.local else f"{{{self.namespace}}}" if self.namespace else ""
        return space + (self.local or "*")


ANY_NAME = QualifiedName(namespace=None, local=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStep:
    kind: StepKind
    descends: bool = False  # after // instead of /
    name: QualifiedName = ANY_NAME
    predicates: tuple[Expression, ...] = ()


class PathStart(Enum):
    DOCUMENT = "document"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPath:
    start: PathStart | str  # a string is the name of a variable that a clause of the query binds
    steps: tuple[QueryStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderVariable:
    """A variable that the query does not bind itself: an item of the header, a property or the routing key."""

    name: str
    declared: str = ""  # the type it is declared with, such as xs:string or xs:decimal?


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantValue:
    value: Constant


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceExpression:
    items: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonExpression:
    operator: str  # = != < <= > >=
    singles: bool  # written as eq, ne …: each side is one value or none
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class And:
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or:
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallExpression:
    function: str  # a local name of the standard functions, or xs:decimal and the like
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantified:
    every: bool
    variable: str
    among: Expression
    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class If:
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class ForClause:
    variable: str
    among: Expression
    result: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class LetClause:
    variable: str
    value: Expression
    result: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereClause:
    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An expression whose end is known, but whose meaning only the engine knows."""

    reason: str


Expression = (
    QueryPath
    | HeaderVariable
    | ConstantValue
    | SequenceExpression
    | ComparisonExpression
    | And
    | Or
    | CallExpression
    | Quantified
    | If
    | ForClause
    | LetClause
    | WhereClause
    | Unknown
)
EMPTY = SequenceExpression()


class UnreadableQuery(Exception):
    """The query is outside the supported subset; the text states what and where."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
