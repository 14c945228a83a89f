"""Master keys as text: hex or base64, one on each line, and errors that do not quote them."""

from __future__ import annotations

from base64 import b64encode

import pytest

from postroad.core.identity.master_keys import parse_master_keys
from postroad.core.identity.sealing import derive_key_id
from postroad.errors import Misconfigured

FIRST, SECOND = bytes(range(32)), bytes(range(100, 132))


def test_both_notations_and_comments_are_read_in_order() -> None:
    text = f"# since May\n{FIRST.hex()}\n\n  {b64encode(SECOND).decode()}\n"
    keys = parse_master_keys(text, "here")
    assert keys.ids == (derive_key_id(FIRST), derive_key_id(SECOND))
    assert keys.first.key == FIRST


def test_commas_divide_keys_in_a_variable() -> None:
    assert len(parse_master_keys(f"{FIRST.hex()}, {SECOND.hex()}", "here").ids) == 2


@pytest.mark.parametrize("bad", ["abc123", FIRST.hex()[:-1], b64encode(FIRST[:31]).decode(), "ä" * 64])
def test_a_bad_line_is_named_and_not_quoted(bad: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        parse_master_keys(f"{FIRST.hex()}\n{bad}\n", "master_key_file /run/key")
    [fault] = refused.value.faults
    assert fault.startswith("master_key_file /run/key: line 2 is not a key")
    assert bad not in fault


@pytest.mark.parametrize(
    ("text", "fault"), [("\n# nothing\n", "contains no key"), (f"{FIRST.hex()}\n" * 11, "at most 10")]
)
def test_too_few_and_too_many_keys_are_errors(text: str, fault: str) -> None:
    with pytest.raises(Misconfigured, match=fault):
        parse_master_keys(text, "here")
