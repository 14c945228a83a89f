"""However many names documents have, no more of them are remembered than trees in use need, and no two threads meet in them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from postroad.core.codecs.xml import Tree, parse, parse_for_this_thread, serialize
from postroad.core.codecs.xml_names import MAX_DICTIONARY_BYTES, SMALL
from postroad.errors import Refused

SOURCE = Path(__file__).parents[4] / "src"
MAX_GROWTH = 8 << 20

BEGINNING = """
import sys
sys.path.insert(0, {source!r})
from threading import Thread
from postroad.core.codecs.recent_trees import tree_of
from postroad.core.codecs.xml import parse, parse_for_this_thread
from postroad.errors import Refused
"""
GROWING = """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def fresh(number):
    spelled = b"%016x" % number * 3
    return b'<p%b:e%b xmlns:p%b="urn:%b" a%b=""/>' % ((spelled,) * 5)

def read(reader, first, documents, elements, closing=b"</r>"):
    for number in range(first, first + documents * elements, elements):
        try:
            reader(b"<r>" + b"".join(map(fresh, range(number, number + elements))) + closing)
        except Refused:
            assert closing != b"</r>"

def read_beside(*what):
    thread = Thread(target=read, args=what)
    thread.start()
    thread.join()

def attack(first):
    {attack}

attack(0)
before = resident()
for turn in range(1, 4):
    attack(turn << 20)
print(resident() - before)
"""
# Each makes 300,000 names in three turns, some 20 MB of them: 25,000 elements a turn with a prefix, a namespace and an attribute.
ATTACKS = {
    "in small documents": "read(parse_for_this_thread, first, 2_500, 10)",
    "in larger documents": "read(parse_for_this_thread, first, 25, 1_000)",
    "in documents that rules look into": "read(tree_of, first, 1_250, 10); read(tree_of, first + 500_000, 60, 200)",
    "in documents that all threads may see": "read(parse, first, 1_250, 10); read(parse, first + 500_000, 12, 1_000)",
    "in documents that are refused": "read(parse_for_this_thread, first, 2_500, 10, b'')",
    "in a thread beside": "read_beside(parse_for_this_thread, first, 2_500, 10)",
}


def printed(program: str) -> str:
    beginning = BEGINNING.format(source=str(SOURCE))
    ended = subprocess.run([sys.executable, "-c", beginning + program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-500:])
    return ended.stdout.strip()


@pytest.mark.req("Z2")
@pytest.mark.parametrize("attack", ATTACKS)
def test_names_that_never_come_again_do_not_fill_the_memory(attack: str) -> None:
    assert int(printed(GROWING.format(attack=ATTACKS[attack]))) < MAX_GROWTH


SIDE_BY_SIDE = """
def read(first):
    for document in range(120):
        names = b"".join(b"<%b%07x/>" % (first, document * 2_000 + number) for number in range(2_000))
        {reader}(b"<r>" + names + b"</r>")

{reader}(b"<a/>")
threads = [Thread(target=read, args=(first,)) for first in (b"a", b"b")]
for thread in threads:
    thread.start()
read(b"m")
for thread in threads:
    thread.join()
print("alive")
"""


@pytest.mark.parametrize("reader", ["parse", "parse_for_this_thread"])
def test_threads_that_read_side_by_side_do_not_break_each_others_memory(reader: str) -> None:
    """The process would end, by a signal."""
    assert printed(SIDE_BY_SIDE.format(reader=reader)) == "alive"


def named(number: int) -> bytes:
    return b'<p%d:order%d xmlns:p%d="urn:%d"><line%d at%d="1"/></p%d:order%d>' % ((number,) * 8)


@pytest.mark.parametrize("read", [parse, parse_for_this_thread])
def test_trees_keep_their_names_when_the_dictionary_is_left_to_them(read: Callable[[bytes], Tree]) -> None:
    documents = [named(number) for number in range(5_000)]
    assert sum(map(len, documents)) > 2 * MAX_DICTIONARY_BYTES
    trees = [read(document) for document in documents]
    assert [serialize(tree) for tree in trees] == documents
    assert [next(tree.iter(f"line{number}")).get(f"at{number}") for number, tree in enumerate(trees)] == ["1"] * 5_000


def test_trees_outlive_the_thread_that_read_them() -> None:
    trees: list[Tree] = []
    thread = Thread(target=lambda: trees.extend(parse(named(number)) for number in range(100)))
    thread.start()
    thread.join()
    assert [serialize(tree) for tree in trees] == [named(number) for number in range(100)]


@pytest.mark.parametrize("elements", [1, 2_000])
def test_a_refused_document_leaves_the_next_one_readable(elements: int) -> None:
    document = b"<r>" + b"".join(map(named, range(elements)))
    assert (len(document) > SMALL) == (elements > 1)
    for read in (parse, parse_for_this_thread):
        with pytest.raises(Refused):
            read(document)
        assert serialize(read(named(1))) == named(1)
