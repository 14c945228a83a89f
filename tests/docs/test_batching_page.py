"""The page on batches leaves no state, criterion or kind of recovery out, and the guides name every command."""

from __future__ import annotations

import re

import pytest

from postroad.cli.commands.messages.batches import batch
from postroad.core.configuration.profile.batching import BatchingProfile
from postroad.core.model.batch import BatchState
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

PAGE = (ROOT / "docs" / "explanation" / "batching.md").read_text()
GUIDE = (ROOT / "docs" / "howto" / "send-in-batches.md").read_text()
LOOKING = (ROOT / "docs" / "howto" / "manage-batches.md").read_text()
OF_THE_PARTNER = {"sendsTo", "standard", "sender", "receiver", "envelope"}
ONLY_ON_THE_PAGE = {"recovery", "persistAt"}  # what a crash leaves is no matter of setting up


def test_every_state_of_a_batch_is_explained() -> None:
    rows = re.findall(r"^\| ([\w, ]+) \|", PAGE.partition("## The life of a batch")[2], re.M)
    named = {name.strip() for row in rows for name in row.split(",")}
    assert {state.value for state in BatchState} <= named


@pytest.mark.req("B1")
def test_every_field_of_a_policy_is_explained() -> None:
    fields = {info.alias for info in BatchingProfile.model_fields.values()} - OF_THE_PARTNER
    assert [field for field in sorted(map(str, fields)) if f"`{field}" not in PAGE] == []
    guided = [field for field in sorted(map(str, fields - ONLY_ON_THE_PAGE)) if f"`{field}:" not in GUIDE]
    assert guided == []


def test_every_command_on_a_batch_is_shown() -> None:
    shown = [name for name, one in batch.commands.items() if not one.hidden]
    assert [name for name in shown if f"postroad batch {name} " not in LOOKING] == []
