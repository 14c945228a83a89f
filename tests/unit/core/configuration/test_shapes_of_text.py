"""Texts of one line are one line: a line break at the end is no part of a name, an address or a key."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError, create_model

from postroad.core.configuration import shapes

TEXTS = {
    "Line": "anything",
    "Word": "word",
    "Name": "Supply",
    "Email": "ann@oak.example",
    "Gcid": "0123456789abcdef",
    "SecretFrom": "env:SECRET",
    "Password": "correct horse",
}


def model(name: str) -> Any:
    return create_model("Model", __base__=shapes.StrictShape, text=(getattr(shapes, name), ...))


@pytest.mark.parametrize("name", TEXTS)
def test_a_line_break_at_the_end_is_a_fault(name: str) -> None:
    assert model(name)(text=TEXTS[name]).text == TEXTS[name]
    with pytest.raises(ValidationError, match="should match pattern"):
        model(name)(text=TEXTS[name] + "\n")
