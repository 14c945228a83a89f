"""Examples beside text fields can be taken as they stand."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from postroad.console import rule_form
from postroad.console.form_examples import EXAMPLES
from postroad.console.form_values import parse_yaml_text, validate_values
from postroad.core.codecs.xml import check_well_formed
from postroad.core.configuration.document import NetworkDocument, read_document
from postroad.core.configuration.entries.model_pieces import ModelPiece
from postroad.core.configuration.entries.rules import RuleEntry
from postroad.core.configuration.profile.batching import BatchingProfile
from postroad.core.configuration.profile.service import ServiceProfile
from postroad.services.exchange.binding_trial import TriedBinding

SHAPES: dict[str, type[BaseModel]] = {
    "binding": TriedBinding,
    "batches": BatchingProfile,
    "service": ServiceProfile,
    "model": ModelPiece,
}


@pytest.mark.parametrize(("name", "shape"), SHAPES.items())
def test_an_example_has_the_shape_of_what_it_stands_for(name: str, shape: type[BaseModel]) -> None:
    validate_values(shape, parse_yaml_text(EXAMPLES[name]))


def test_a_rule_is_tried_as_it_is_and_its_text_completes_a_form() -> None:
    validate_values(RuleEntry, {"name": "tried"} | parse_yaml_text(EXAMPLES["rule"]))
    written = {"operator": rule_form.WRITTEN, "action": rule_form.WRITTEN, "more": EXAMPLES["when and then"]}
    validate_values(RuleEntry, rule_form.rule_entry(rule_form.EMPTY | {"name": "n"} | written))


def test_a_network_is_one_and_a_stylesheet_is_xml() -> None:
    found: Any = read_document(parse_yaml_text(EXAMPLES["network"]))
    assert isinstance(found, NetworkDocument), found
    check_well_formed(EXAMPLES["stylesheet"].encode())


def test_none_is_left_untried() -> None:
    assert EXAMPLES.keys() == SHAPES.keys() | {"rule", "when and then", "network", "stylesheet"}
