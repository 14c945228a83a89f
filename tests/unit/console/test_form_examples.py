"""Examples beside text fields can be taken as they stand."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from postroad.console import rule_form
from postroad.console.editing import from_text, shaped
from postroad.console.form_examples import EXAMPLES
from postroad.core.codecs.xml import check_well_formed
from postroad.core.configuration.batching_profile import BatchingProfile
from postroad.core.configuration.document import NetworkDocument, read_document
from postroad.core.configuration.model_pieces import ModelPiece
from postroad.core.configuration.profile import ServiceProfile
from postroad.core.configuration.rules import RuleEntry
from postroad.services.binding_bench import TriedBinding

SHAPES: dict[str, type[BaseModel]] = {
    "binding": TriedBinding,
    "batches": BatchingProfile,
    "service": ServiceProfile,
    "model": ModelPiece,
}


@pytest.mark.parametrize(("name", "shape"), SHAPES.items())
def test_an_example_has_the_shape_of_what_it_stands_for(name: str, shape: type[BaseModel]) -> None:
    shaped(shape, from_text(EXAMPLES[name]))


def test_a_rule_is_tried_as_it_is_and_its_text_completes_a_form() -> None:
    shaped(RuleEntry, {"name": "tried"} | from_text(EXAMPLES["rule"]))
    written = {"operator": rule_form.WRITTEN, "action": rule_form.WRITTEN, "more": EXAMPLES["when and then"]}
    shaped(RuleEntry, rule_form.entry_in(rule_form.EMPTY | {"name": "n"} | written))


def test_a_network_is_one_and_a_stylesheet_is_xml() -> None:
    found: Any = read_document(from_text(EXAMPLES["network"]))
    assert isinstance(found, NetworkDocument), found
    check_well_formed(EXAMPLES["stylesheet"].encode())


def test_none_is_left_untried() -> None:
    assert EXAMPLES.keys() == SHAPES.keys() | {"rule", "when and then", "network", "stylesheet"}
