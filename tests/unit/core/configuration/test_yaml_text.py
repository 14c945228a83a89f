"""Whatever is written as YAML is read back as the very same, to the last blank and line end."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from postroad.core.configuration.yaml_text import as_yaml, from_yaml

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\t :#'\"|>-<\x85\u2028"), max_size=40)


@given(content=TEXTS)
@example(content="<a>\n  <b/>\n</a>")
@example(content="a,b\r\n1,2\r\n")
@example(content=" leading\nand trailing \n\n\n")
@example(content="\ttab\nfeed\x0c\x00")
def test_any_text_comes_back(content: str) -> None:
    document = {"stylesheets": {"s": {"content": content, "description": "x"}}}
    assert yaml.safe_load(as_yaml(document)) == document


def test_invisible_characters_are_escaped() -> None:
    document = {"description": "caf\u00e9 \u202egnp.exe", "other": "caf\u00e9"}
    assert as_yaml(document) == 'description: "caf\\xE9 \\u202Egnp.exe"\nother: caf\u00e9\n'
    assert from_yaml(as_yaml(document)) == document


def test_lines_stand_as_lines() -> None:
    assert as_yaml({"content": "<a>\n  <b/>\n</a>\n"}) == "content: |\n  <a>\n    <b/>\n  </a>\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [("name: a\nthen: []\nname: b\n", "'name' is repeated"), ("a: " + "[" * 5_000, "nested too deep")],
)
def test_what_cannot_be_read_as_it_is_written_is_refused(text: str, said: str) -> None:
    with pytest.raises(yaml.YAMLError, match=said):
        from_yaml(text)


def test_names_may_come_again_elsewhere_and_be_merged() -> None:
    assert from_yaml("a: &a {x: 1}\nb: {<<: *a, x: 2}\n") == {"a": {"x": 1}, "b": {"x": 2}}


def test_a_country_is_not_taken_for_false() -> None:
    assert from_yaml("[NO, no, yes, on, Off, true, False, y]") == ["NO", "no", "yes", "on", "Off", True, False, "y"]
    assert yaml.safe_load("[NO, yes]") == [False, True], "or else nothing has to be done about it any more"
