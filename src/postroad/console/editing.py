"""Configuration in forms: a few fields that most people need, and everything else as the text that files have.

Kept rules: what is checked while somebody types is what is checked when it is saved; every fault is shown at once, each with its
place; nothing that somebody has written is lost because something in it is wrong.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent, YAMLError

from postroad.core.configuration.document import Fault, plainly, pointer
from postroad.core.configuration.yaml_text import as_yaml, events_of, from_shallow_yaml
from postroad.errors import Refused
from postroad.flow.administration import Contradictory

TEXT_MOST = 64 << 10  # characters
READ_AT_ONCE = 4 << 10  # characters; a longer text takes more than some milliseconds
LONG_KEPT = 32  # long texts as they were read
NUMBER_MOST = (1 << 63) - 1  # that a store can hold
DIGITS_MOST = len(str(NUMBER_MOST))
DEPTH_MOST = 100
BRACKETS = re.compile(r"[][{}]")
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


def from_text(text: str, most: int = TEXT_MOST) -> dict[str, Any]:
    """What a text area says; raises Faulty where it is no YAML, or no mapping. Long texts are best read ahead."""
    if len(text) <= READ_AT_ONCE or len(text) > most:
        return _from_text(text, most)
    found = _read_long(text, most)
    if isinstance(found, Faulty):
        raise Faulty(found.faults)
    return deepcopy(found)


def read_ahead(texts: Iterable[str]) -> None:
    """Read the long texts of a form, in a thread, so that the event loop finds them read."""
    for text in texts:
        if READ_AT_ONCE < len(text) <= TEXT_MOST:
            _read_long(text, TEXT_MOST)


@lru_cache(maxsize=LONG_KEPT)
def _read_long(text: str, most: int) -> dict[str, Any] | Faulty:
    try:
        return _from_text(text, most)
    except Faulty as faulty:
        return Faulty(faulty.faults)


def _from_text(text: str, most: int) -> dict[str, Any]:
    """What a text area says, read now.

    Anybody who has an account may send it, so it is bounded, and nothing in it can stand for more than is written there.
    """
    if not text.strip():
        return {}
    if len(text) > most or _depth(text) > DEPTH_MOST:
        raise Faulty([Fault("", f"Write at most {most} characters, and not more than {DEPTH_MOST} brackets deep")])
    try:
        found = from_shallow_yaml(text) if _is_plain(text) else None
    except (YAMLError, ValueError, OverflowError) as error:  # dates and numbers that are none are told by the last two
        raise Faulty([Fault("", f"This is no YAML: {error}")]) from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise Faulty(
            [Fault("", "Write fields here, each with its name: `field: value`; anchors and aliases are not for forms")]
        )
    return found


def _is_plain(text: str) -> bool:
    """Whether nothing in it stands for something else; raises Faulty as soon as it is too deep, which readers are slow with."""
    depth = 0
    for event in events_of(text):
        if isinstance(event, AliasEvent):
            return False
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEPTH_MOST:
            raise Faulty([Fault("", f"Write it not more than {DEPTH_MOST} deep")])
    return True


def _depth(text: str) -> int:
    """How deep brackets are nested, at the least; the reader needs a long time for very many."""
    depth = deepest = 0
    for bracket in BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


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
    """A version or a number that a form carries, be it a pseudonym's; None where it is none."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MOST else None
    return number if number is not None and number <= NUMBER_MOST else None
