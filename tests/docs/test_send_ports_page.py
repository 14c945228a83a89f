"""The page on send ports has every field with its default, and its example can be applied."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_core import PydanticUndefined

from postroad.core.configuration.profile.batching import BatchingProfile, ControlledProfile
from postroad.core.configuration.profile.splitting import SplittingProfile
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.snapshot import Directory
from tests.samples.plans import planned

PAGE = (Path(__file__).parents[2] / "docs/reference/send-ports.md").read_text()
IN_WORDS = {"sender": "empty", "receiver": "empty", "standard": "detected", "answersTo": "none", "batcher": "empty"}


def rows(title: str) -> dict[str, str]:
    """Of the table below a title: what stands as default beside each field."""
    section = re.split(r"^#+ ", PAGE.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found: dict[str, str] = {}
    for names, default in re.findall(r"^\| (`.+?`) \| (.*?)\| ", section, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), default.strip())
    return found


def told(name: str, default: Any) -> str:
    """A default in the words of the page."""
    if name in IN_WORDS:
        return IN_WORDS[name]
    match default:
        case None:
            return "none"
        case bool():
            return f"`{str(default).lower()}`"
        case int():
            return str(default)
        case ():
            return "`[]`"
    return f"`{getattr(default, 'value', default)}`"


@pytest.mark.docs
@pytest.mark.parametrize(
    ("title", "shape"),
    [("batching", BatchingProfile), ("controlled", ControlledProfile), ("splitting", SplittingProfile)],
)
def test_the_page_has_every_field_with_its_default(title: str, shape: type[StrictShape]) -> None:
    expected = {}
    for name, field in shape.model_fields.items():
        written = field.alias or name
        if field.default_factory is not None:
            expected[written] = "`{}`"
        elif field.default is PydanticUndefined:
            expected[written] = ""
        else:
            expected[written] = told(written, field.default)
    assert rows(title) == expected


@pytest.mark.docs
def test_the_example_can_be_applied() -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    found = planned(yaml.safe_load(example), Directory())
    assert found.faults == ()
    assert {step.name for step in found.steps} >= {"MyBiz/orders", "MyBiz/from-acme"}
