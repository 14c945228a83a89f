"""Strings in JSON, where their ends are found without decoding them."""

from __future__ import annotations

import pytest

from postroad.core.codecs.cloudevents import read_structured
from postroad.core.codecs.json_nesting import nests_deeper
from postroad.errors import Refused

EVENT = b'{"specversion":"1.0","id":"1","source":"/a","t\\u0079pe":"b",%b}'


@pytest.mark.parametrize(
    ("data", "depth"),
    [
        (rb'["[[["]', 1),
        (rb'["\"[[["]', 1),
        (rb'["\\", [[]], "[[["]', 3),
        (rb'["\\\"[[[", []]', 2),
        (rb'["\\\\", [], "\n\"[[[\\"]', 2),
        (rb'[{"\u005c":["\\"]}, "[["]', 3),
        (b'["' + b"\\\\" * 1_000 + b'", [[]]]', 3),
        (b'["' + b'\\"' * 1_001 + b'[[[", []]', 2),
    ],
)
def test_only_brackets_outside_strings_nest(data: bytes, depth: int) -> None:
    assert nests_deeper(data, depth - 1)
    assert not nests_deeper(data, depth)


@pytest.mark.parametrize("escapes", [1, 99, 100, 101, 250])
def test_a_name_may_have_any_number_of_escapes(escapes: int) -> None:
    name = rb"\u0061" * escapes + rb"\"b\\"
    assert read_structured(EVENT % (b'"%b" : null, "last":"1"' % name)).extensions == (("last", "1"),)
    with pytest.raises(Refused, match="occurs twice"):
        read_structured(EVENT % (b'"%b":null,"%b":null' % (name, name.replace(rb"\u0061", b"a", 1))))
