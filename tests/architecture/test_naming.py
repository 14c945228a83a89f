"""Names say what things are, and words that were replaced do not come back."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.source_tree import PACKAGE, ROOT, Module, modules

RELATIVE = ("The same", "Likewise", "As ")
POSITIONAL = 6
POSITIONAL_OF_ENTRIES = 2
MARKED = "# positional:"  # in a function whose calls were measured with and without keywords
# Functions that take any number of values of one kind.
VARIADIC = frozenset({
    "agg", "builds", "coalesce", "concat_ws", "drop", "dropDuplicates", "fetch", "groupBy", "key_hash", "orderBy", "partial",
    "partitionBy", "select", "struct", "write_segment",
})  # fmt: skip
REPLACED = {
    r"\bhow manieth\b": "number",
    r"\banew\b": "again",
    r"\bin vain\b": "without success",
    r"\bfor ever\b": "indefinitely",
    r"\bof this name\b": "named …",
    r"\bKept rules?:": "Rule:",
    r"\bown forms?\b": "native format",
    r"\bplain formats?\b": "external format",
    r"\blikewise\b": "also",
    r"\b(whoever|whom|whomever)\b": "sender, recipient, client, owner …",
    r"(?<![\"'`/])\b(?-i:[Ss]omebody|[Aa]nybody|[Ee]verybody|[Nn]obody)\b(?![\"'`/]| \(user)": "someone, no one, or the role",
    r"\b(is|are|was|were|be|been) told\b": "is notified, receives, is reported",
    r"\b(held|holds?|holding) back\b": "paused (batch), waiting for release (push)",
    r"\blets? (it|them) go\b|\b(is|are) let go\b": "resumes",
    r"\bon the bench\b|\bthe bench\b|\bworkshop\b|\b(use-the-|test_)bench\b|\bbench_\w+\.html\b": "test page",
    r"\blook-after-": "manage-",
    r"\bbusiness_keys?\b|\bBusinessKeys?\b": "search_key",
    r"\b(StationKey|make_station_key|veil_context|happenings)\b|\bsight\b": "As2Key, hide_context, events, viewer",
    r"(?<![\"'`])\b(?-i:dirt)\b(?![\"'`])": "envelope errors",
    r"(?<![\"'.`_])\bwhereabouts\b(?![\"'`:=])": "status",
    r"\b(AS2|partner's|own) stations?\b|\btwo stations\b": "AS2 identity",
    r"\bbusiness keys?\b": "search key",
    r"\bas well be\b": "also be",
    r"\bcomes? twice\b": "is repeated",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bin earnest\b": "in production",
    r"\bdear ones?\b": "expensive",
    r"\bmade-up\b": "simulated",
    r"\btaken? apart\b": "split, decode",
    r"\blooks? after\b": "manage",
    r"\bfor good\b": "permanently",
    r"\bon record\b": "recorded",
    r"\bis no (number|verdict|JSON)\b": "is not a …",
    r">(Go on|Leave it)<": "Continue, Cancel",
    r"\bbatch (hold|let-go|take-out)\b|\btaken out of (a |the )?batch\b": "batch pause, resume, remove",
    r"\b(AS2|asynchronous) receipts?\b|\bas2 receipt\b|\bsent no receipt\b": "MDN",
}
PERSONIFIED = frozenset({"tell", "tells", "told", "telling", "hear", "heard", "hearing", "say", "says", "said", "whom"})
STORED = frozenset({"told"})  # a field of resources in JSON
# A word of a name that was replaced, where it may not be used (of paths in the package), and what to write.
REPLACED_NAMES = {
    "facts": ("core/interchange/flat/layout.py", "options; facts are what was read of an interchange"),
    "lane": ("", "slots, capacity or speed of pushes, operation of bulk work"),
    "lanes": ("", "capacity"),
}
# Participles and adjectives that do not end in -ed.
IRREGULAR = frozenset({
    "begun", "bound", "broken", "built", "chosen", "done", "drawn", "due", "fallen", "forgotten", "found", "given",
    "gone", "held", "hidden", "kept", "known", "latest", "left", "lost", "made", "new", "old", "paid", "ready", "seen", "sent",
    "shown", "sought", "spoken", "spent", "stale", "taken", "thrown", "undone", "whole", "written",
})  # fmt: skip
VERBS_IN_ED = frozenset({"embed", "feed", "need", "seed", "shed", "speed"})
# Name a command or a report as users write it, or an error that is raised: ``raise malformed(…)``.
NOT_VERBS = frozenset({"malformed", "ready", "started", "undelivered", "unsupported"})
PROSE = ("*.md", "*.html", "*.py", "*.sql", "*.js")
LINE_START = re.compile(r"\s*(?:#|--|//)?\s*")  # indentation and the mark of a comment


def module_ids(module: Module) -> str:
    return module.name


def test_a_class_name_stands_for_one_class() -> None:
    found = defaultdict(list)
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


@pytest.mark.parametrize("module", modules(), ids=module_ids)
def test_a_predicate_returns_an_answer(module: Module) -> None:
    wrong = [
        node.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.lstrip("_").startswith(("is_", "has_"))
        and isinstance(node.returns, ast.Constant)
        and node.returns.value is None
    ]
    assert wrong == [], "a function that changes something is named by a verb"


@pytest.mark.parametrize("module", modules(), ids=module_ids)
def test_a_docstring_can_be_read_alone(module: Module) -> None:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    texts = [ast.get_docstring(node) or "" for node in ast.walk(module.tree) if isinstance(node, documented)]
    assert [text for text in texts if text.startswith(RELATIVE)] == []


@pytest.mark.parametrize("module", modules(), ids=module_ids)
def test_functions_do_not_tell_hear_or_say(module: Module) -> None:
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = [node.name for node in functions if not node.name.startswith("test_")]
    assert [name for name in names if name not in STORED and PERSONIFIED & {*name.strip("_").split("_")}] == []


@pytest.mark.parametrize("module", modules(), ids=module_ids)
def test_limits_are_called_max(module: Module) -> None:
    assigned = [
        node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    assert [name for name in assigned if name.isupper() and "MOST" in name.split("_")] == []


def is_participle(name: str) -> bool:
    return name in IRREGULAR or (name.endswith("ed") and "_" not in name and name not in VERBS_IN_ED)


def find_participles(tree: ast.Module) -> list[str]:
    """Return the public functions and methods, but for properties, that are named by a participle alone."""
    scopes: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    return [
        node.name
        for scope in scopes
        for node in scope.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and is_participle(node.name)
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


@pytest.mark.parametrize("module", [one for one in modules() if not one.name.startswith("testing/")], ids=module_ids)
def test_functions_are_verbs(module: Module) -> None:
    assert [name for name in find_participles(module.tree) if name not in NOT_VERBS] == []


def test_a_participle_is_found_in_functions_and_methods() -> None:
    source = """
def opened(): ...
def feed(): ...
class Store:
    async def seen(self): ...
    @property
    def kept(self): ...
"""
    assert find_participles(ast.parse(source)) == ["opened", "seen"]


def identifiers(tree: ast.AST) -> set[str]:
    """Return the names that a module defines or uses."""
    fields = ("id", "name", "arg", "attr", "asname")
    return {
        found for node in ast.walk(tree) for field in fields if isinstance(found := getattr(node, field, None), str)
    }


def replaced_names(module: Module) -> list[str]:
    path = module.name
    replaced = {word for word, (folder, _) in REPLACED_NAMES.items() if path.startswith(folder)}
    return sorted(name for name in identifiers(module.tree) if replaced & {*name.casefold().split("_")})


@pytest.mark.parametrize("module", modules(), ids=module_ids)
def test_a_replaced_name_does_not_come_back(module: Module) -> None:
    assert replaced_names(module) == [], f"write {REPLACED_NAMES}"


def test_a_replaced_name_is_found_wherever_a_name_is_written() -> None:
    source = "def a_lane(lanes): x.lane = lane_of(LANE=1)\nimport x as the_lane"
    assert identifiers(ast.parse(source)) >= {"a_lane", "lanes", "lane", "lane_of", "LANE", "the_lane"}


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@cache
def journal_entries() -> frozenset[str]:
    """Return the names of the types of journal entries."""
    return frozenset(
        node.name
        for module in modules("core/model")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and any(word.arg == "tag_field" for word in node.keywords)
    )


def has_many_positional(node: ast.AST) -> bool:
    """Whether this is a call whose arguments would be clearer as keywords."""
    if not isinstance(node, ast.Call) or called(node) in VARIADIC:
        return False
    return len(node.args) > (POSITIONAL_OF_ENTRIES if called(node) in journal_entries() else POSITIONAL)


@pytest.mark.parametrize("module", modules(), ids=module_ids)
def test_calls_with_many_arguments_name_them(module: Module) -> None:
    text = module.path.read_text()
    marked = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and MARKED in (ast.get_source_segment(text, node) or "")
    ]
    long = [
        f"{node.lineno}: {called(node)}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and has_many_positional(node)
        and not any(node.lineno in lines for lines in marked)
    ]
    assert long == [], f"use keywords, or say in a comment {MARKED!r} what they cost here"


def test_a_positional_journal_entry_is_found() -> None:
    positional = "DeliveriesAcknowledged(now_us, by, numbers)"
    by_keyword = "DeliveriesAcknowledged(at_us=now_us, by=by, deliveries=numbers)"
    assert len(journal_entries()) > 20
    assert has_many_positional(ast.parse(positional, mode="eval").body)
    assert not has_many_positional(ast.parse(by_keyword, mode="eval").body)


def prose() -> list[Path]:
    folders = [PACKAGE, ROOT / "docs", ROOT / "examples"]
    files = [path for folder in folders for kind in PROSE for path in folder.rglob(kind)]
    return sorted([*files, *ROOT.glob("*.md")])


def lines(path: Path) -> list[str]:
    """Return the lines of a file; of the glossary without the column that lists the words of others."""
    found = path.read_text().splitlines()
    if path.name == "GLOSSARY.md":
        return ["|".join(line.split("|")[:3]) if line.startswith("|") else line for line in found]
    return found


class Prose(NamedTuple):
    """The text of a file in one line, without the marks of comments, and where each of its lines begins."""

    name: str
    text: str
    begins: list[int]

    def place(self, at: int) -> str:
        return f"{self.name}:{bisect_right(self.begins, at)}: {self.text[max(0, at - 40) : at + 60]}"


def join_lines(name: str, separate: list[str]) -> Prose:
    """Join lines: a phrase that is broken between two of them is one, too."""
    bare = [LINE_START.sub("", line, count=1) for line in separate]
    begins = list(accumulate((len(line) + 1 for line in bare), initial=0))[:-1]
    return Prose(name, " ".join(bare), begins)


@cache
def joined_prose() -> list[Prose]:
    return [join_lines(str(path.relative_to(ROOT)), lines(path)) for path in prose()]


@pytest.mark.parametrize("word", REPLACED)
def test_a_replaced_word_does_not_come_back(word: str) -> None:
    pattern = re.compile(word, re.IGNORECASE)
    found = [one.place(match.start()) for one in joined_prose() for match in pattern.finditer(one.text)]
    assert found == [], f"write {REPLACED[word]!r}"


def test_a_word_is_found_across_lines_and_in_every_kind_of_file() -> None:
    broken = join_lines("a.sql", ["SELECT 1;", "  -- Kept", "  -- rule: none"])
    match = re.search(r"\bKept rules?:", broken.text)
    assert match is not None
    assert broken.place(match.start()).startswith("a.sql:2: ")
    assert {path.suffix for path in prose()} == {".md", ".html", ".py", ".sql", ".js"}


def test_a_word_of_the_glossary_has_one_entry() -> None:
    words = [
        line.split("|")[1].strip().strip("*").casefold()
        for line in (ROOT / "GLOSSARY.md").read_text().splitlines()
        if line.startswith("|") and not line.startswith(("|--", "| Word", "| Term"))
    ]
    assert len(words) > 50
    assert sorted({word for word in words if words.count(word) > 1}) == []
