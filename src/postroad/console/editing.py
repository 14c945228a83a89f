"""Configuration in forms: a few fields that most people need, and everything else as the text that files have.

Kept rules: what is checked while somebody types is what is checked when it is saved; every fault is shown at once, each with its
place; nothing that somebody has written is lost because something in it is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from yaml import YAMLError

from postroad.core.configuration.document import Fault, plainly, pointer
from postroad.core.configuration.yaml_text import as_yaml, from_yaml
from postroad.errors import Refused
from postroad.flow.administration import Contradictory

FOLLOWING = "after validation"  # said of a list whose items are at fault already

Model = TypeVar("Model", bound=BaseModel)


class Faulty(Exception):
    """What somebody wrote cannot be taken as it is."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.detail for fault in faults))
        self.faults = list(faults)


def shaped(model: type[Model], values: Mapping[str, Any]) -> Model:
    """The values in their shape; raises Faulty with every fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = [Fault(pointer(*fault["loc"]), plainly(fault["msg"])) for fault in error.errors()]
        raise Faulty(plain_faults(faults)) from None


def plain_faults(faults: Sequence[Fault]) -> list[Fault]:
    """Faults as people know their places: without the names that shapes have inside, and each place told of once."""
    found: dict[str, Fault] = {}
    for fault in faults:
        place = "".join(f"/{step}" for step in fault.pointer.split("/")[1:] if "[" not in step)
        found.setdefault(place, fault._replace(pointer=place))
    places = list(found)
    follows = {place for place in places if any(other.startswith(f"{place}/") for other in places)}
    return [fault for place, fault in found.items() if not (place in follows and FOLLOWING in fault.detail)]


def from_text(text: str) -> dict[str, Any]:
    """What a text area says; raises Faulty where it is no YAML, or no mapping."""
    if not text.strip():
        return {}
    try:
        found = from_yaml(text)
    except YAMLError as error:
        raise Faulty([Fault("", f"This is no YAML: {error}")]) from None
    if not isinstance(found, dict):
        raise Faulty([Fault("", "Write fields here, each with its name: `field: value`")])
    return found


def to_text(values: Mapping[str, Any]) -> str:
    return as_yaml(dict(values)) if values else ""


def of_refusal(refusal: Refused) -> list[Fault]:
    """A refusal as faults of the form; those that are none of the form's are raised again."""
    if isinstance(refusal, Contradictory):
        return refusal.faults
    if refusal.code in ("permission.denied", "not-found", "rate.exceeded"):
        raise refusal
    return [Fault(refusal.pointer, refusal.detail)]


def beside_fields(faults: Sequence[Fault], places: Mapping[str, str]) -> Mapping[str, str]:
    """What is wrong with each field of a form: ``places`` names the field for the beginning of a fault's pointer."""
    found: defaultdict[str, str] = defaultdict(str)
    for fault in faults:
        field = next((field for place, field in places.items() if (fault.pointer + "/").startswith(place + "/")), "")
        found[field] = found[field] or fault.detail
    return found


def number_in(text: str) -> int | None:
    """A version or a number that a form carries; None where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
