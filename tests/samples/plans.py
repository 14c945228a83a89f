"""Planning a change of a plain directory, with fresh ids and without secrets, and applying the plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from postroad.core.configuration.change_plan import ConfigurationPlan
from postroad.core.configuration.document import NetworkDocument, read_document
from postroad.core.configuration.planner import make_plan
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory


def numbers(directory: Directory) -> Iterator[str]:
    """That nothing has yet."""
    drawn = (f"{number:016x}" for number in itertools.count(1))
    return (number for number in drawn if number not in directory.services)


def planned(content: dict[str, Any], directory: Directory, **options: Any) -> ConfigurationPlan:
    document = read_document(content)
    assert isinstance(document, NetworkDocument), document
    given_secrets: dict[str, Any] = {"secrets": {}, "fresh_ids": numbers(directory), "now_us": 1} | options
    return make_plan(document, directory, **given_secrets)


def applied(found: ConfigurationPlan, directory: Directory) -> Directory:
    changes = [
        ObjectChange(step.kind, step.key, step.seen_version + 1, msgspec.to_builtins(step.value))
        for step in found.steps
    ]
    return directory.apply_changes(changes, directory.version + 1)
