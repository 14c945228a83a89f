"""Documents, header items and queries for the oracle, drawn at random: namespaces, mixed content, odd numbers, encodings."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hypothesis import strategies as st

from tests.property.exchange_oracle import (
    NAMESPACES,
    Compare,
    CompareOne,
    Condition,
    Converted,
    Exists,
    HeaderTest,
    Joined,
    Node,
    Not,
    Path,
    Position,
    Quantified,
    Step,
    TextTest,
)

TEXTS = ["", "5", "5.0", "05", " 5 ", "abc", "ab", "1e1", "10", "-3", "+5", "INF", "b", "7.25", "é", "a b", "true", "0",
         "2026-11-16", "2026-02-30", "a<b&c", "\n5"]  # fmt: skip
# NaN is not among them: Saxon takes an untyped NaN for greater than any number.
NUMBERS: list[int | float | Decimal] = [5, 10, -3, 0, 1, Decimal("7.25"), Decimal("5.0"), 1e1, -0.5]
DATES = [date(2026, 11, 16), date(2020, 1, 1)]
ENCODINGS = ["", "UTF-8", "UTF-16", "ISO-8859-1"]

texts = st.sampled_from(TEXTS)
names = st.sampled_from([("", "a"), ("", "b"), ("", "c"), ("urn:p", "a"), ("urn:p", "b"), ("urn:q", "a")])
attribute_names = st.lists(st.sampled_from([("", "x"), ("", "y"), ("urn:p", "x")]), unique=True, max_size=2)


@st.composite
def attributes(draw: st.DrawFn) -> list[Node]:
    return [Node("attribute", name, draw(texts)) for name in draw(attribute_names)]


def text(value: str, spelled: str) -> Node:
    spelling = {"cdata": f"<![CDATA[{value}]]>", "reference": "".join(f"&#{ord(one)};" for one in value)}.get(
        spelled, ""
    )
    return Node("text", value=value, spelling=spelling)


pieces = (
    st.builds(text, texts, st.sampled_from(["", "", "cdata", "reference"]))
    | st.builds(Node, st.just("comment"), value=st.sampled_from(["5", "ab"]))
    | st.builds(Node, st.just("instruction"), value=st.sampled_from(["5", "ab"]))
)


def merged(children: list[Node]) -> list[Node]:
    """As a parser sees them: texts side by side are one, and an empty one is none."""
    found: list[Node] = []
    for child in children:
        if found and child.kind == found[-1].kind == "text":
            before = found.pop()
            child = Node("text", value=before.value + child.value, spelling=before.markup + child.markup)
        found.append(child)
    return [child for child in found if child.kind != "text" or child.value]


def element(name: tuple[str, str], given: list[Node], children: list[Node]) -> Node:
    return Node("element", name, "", given, merged(children))


leaves = st.builds(element, names, attributes(), st.lists(pieces, max_size=1))
elements = st.recursive(
    leaves, lambda inner: st.builds(element, names, attributes(), st.lists(inner | pieces, max_size=4)), max_leaves=10
)


def document(root: Node) -> Node:
    root.spelling = "".join(f' xmlns:{prefix}="{namespace}"' for prefix, namespace in NAMESPACES.items())
    return Node("document", children=[root])


documents = elements.map(document)

headers = st.fixed_dictionaries(
    {},
    optional={
        "s": st.sampled_from(["p", "q", "5", "é"]),
        "n": st.sampled_from(NUMBERS),
        "t": st.booleans(),
    },
)

signs = st.sampled_from(["=", "=", "=", "!=", "<", "<=", ">", ">="])
words = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
values = texts | st.sampled_from(NUMBERS) | st.booleans() | st.sampled_from(DATES)
element_tests = st.sampled_from(["a", "b", "c", "*", "p:a", "p:*", "*:a", "*:b"])
end_tests = st.sampled_from(["@x", "@y", "@*", "@p:x", "@*:x", "text()"])


@st.composite
def paths(draw: st.DrawFn, start: str = "", predicates: bool = True, most: int = 3) -> Path:
    inner = st.lists(small_conditions | st.just(Position(1)), max_size=1) if predicates else st.just([])
    count = draw(st.integers(0 if start.startswith("$v") else 1, most))
    steps = [Step(draw(element_tests), draw(st.booleans()), tuple(draw(inner))) for _ in range(count)]
    if draw(st.booleans()):
        steps.append(Step(draw(end_tests), draw(st.sampled_from([False, False, True]))))
    return Path(tuple(steps), start)


@st.composite
def inside(draw: st.DrawFn) -> Path:
    """Relative to the node that a predicate is tried on."""
    test = draw(st.sampled_from(["", "@x", "@y", "b", "*", "text()", "p:a"]))
    return Path((Step(test),) if test else (), ".")


def atoms(some_path: st.SearchStrategy[Path]) -> st.SearchStrategy[Condition]:
    numeric = st.sampled_from(["xs:decimal", "xs:integer", "xs:double", "number", "count", "string-length"])
    return (
        st.builds(Compare, some_path, signs, values, st.booleans())
        | st.builds(Compare, some_path, signs, values)
        | st.builds(CompareOne, some_path, words, texts)
        | st.builds(Converted, numeric, some_path, signs, st.sampled_from(NUMBERS))
        | st.builds(Converted, st.just("string"), some_path, signs, texts)
        | st.builds(Converted, st.just("xs:date"), some_path, signs, st.sampled_from(DATES))
        | st.builds(TextTest, st.sampled_from(["contains", "starts-with", "ends-with"]), some_path, texts)
        | st.builds(TextTest, st.just("matches"), some_path, st.sampled_from(["^[0-9]+$", "a.", "(5|b)$"]))
        | st.builds(Exists, st.sampled_from(["exists", "boolean", "empty", "not"]), some_path)
    )


small_conditions = atoms(inside()) | st.builds(Exists, st.just(""), inside())
outer_paths = paths() | paths(start="$msg")
header_tests = (
    st.builds(HeaderTest, st.sampled_from(["s", "n", "t", "none"]), signs, values)
    | st.builds(HeaderTest, st.just("s"), signs, texts)
    | st.builds(HeaderTest, st.just("n"), signs, st.sampled_from(NUMBERS))
)
quantified = st.builds(
    Quantified,
    st.sampled_from(["some", "every"]),
    paths(predicates=False, most=2),
    atoms(paths(start="$v", predicates=False, most=1)),
)  # fmt: skip
conditions: st.SearchStrategy[Condition] = st.recursive(
    atoms(outer_paths) | atoms(paths(predicates=False)) | header_tests | quantified,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(Joined, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=4,
)
FRAMES = [
    "{}",
    "if ({}) then $msg else ()",
    "for $m in $msg where {} return $m",
    "$msg[{}]",
    "if ({}) then <yes/> else ()",
]


def encoded(document: Node, encoding: str) -> bytes:
    declared = f'<?xml version="1.0" encoding="{encoding}"?>' if encoding else ""
    return (declared + document.markup).encode(encoding or "UTF-8")
