"""Configuration values in forms: a few fields, and the rest as YAML text, with validation errors by field.

Rules: input is checked while typing as it is when saved. All errors are shown at once, each at its field. No input is
lost because another part of it is wrong.
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

from postroad.core.configuration.document import DocumentError, plain_error_text, pointer
from postroad.core.configuration.yaml_text import as_yaml, events_of, from_shallow_yaml
from postroad.errors import Refused
from postroad.flow.administration.base import InvalidChange

MAX_TEXT = 64 << 10  # characters
READ_AT_ONCE = 4 << 10  # characters; a longer text takes more than some milliseconds
LONG_KEPT = 32  # long texts as they were read
MAX_NUMBER = (1 << 63) - 1  # that a store can hold
MAX_DIGITS = len(str(MAX_NUMBER))
MAX_DEPTH = 100
BRACKETS = re.compile(r"[][{}]")
FOLLOWING = "after validation"  # in errors of a list whose items already have errors

Model = TypeVar("Model", bound=BaseModel)


class InvalidForm(Exception):
    """The values of a form are invalid; carries the errors."""

    def __init__(self, faults: Sequence[DocumentError]) -> None:
        super().__init__("; ".join(fault.detail for fault in faults))
        self.faults = list(faults)


def validate_values(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Validate the values against a model; raises InvalidForm with every error."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = [DocumentError(pointer(*fault["loc"]), plain_error_text(fault["msg"])) for fault in error.errors()]
        raise InvalidForm(readable_errors(faults)) from None


def readable_errors(faults: Sequence[DocumentError]) -> list[DocumentError]:
    """Return one error per field, with readable field names."""
    found: dict[str, DocumentError] = {}
    for fault in faults:
        place = "".join(f"/{step}" for step in fault.pointer.split("/")[1:] if "[" not in step)
        found.setdefault(place, fault._replace(pointer=place))
    places = list(found)
    follows = {place for place in places if any(other.startswith(f"{place}/") for other in places)}
    return [fault for place, fault in found.items() if not (place in follows and FOLLOWING in fault.detail)]


def parse_yaml_text(text: str, most: int = MAX_TEXT) -> dict[str, Any]:
    """Parse the YAML of a text area; raises InvalidForm unless it is a mapping. Parse long texts ahead."""
    if len(text) <= READ_AT_ONCE or len(text) > most:
        return _parse_yaml_now(text, most)
    found = _read_long(text, most)
    if isinstance(found, InvalidForm):
        raise InvalidForm(found.faults)
    return deepcopy(found)


def parse_ahead(texts: Iterable[str]) -> None:
    """Parse the long texts of a form in a thread, so that the event loop finds them parsed."""
    for text in texts:
        if READ_AT_ONCE < len(text) <= MAX_TEXT:
            _read_long(text, MAX_TEXT)


@lru_cache(maxsize=LONG_KEPT)
def _read_long(text: str, most: int) -> dict[str, Any] | InvalidForm:
    try:
        return _parse_yaml_now(text, most)
    except InvalidForm as faulty:
        return InvalidForm(faulty.faults)


def _parse_yaml_now(text: str, most: int) -> dict[str, Any]:
    """Parse the YAML of a text area, in this thread.

    Anyone with an account may send it, so its size is limited, and aliases that could expand it are refused.
    """
    if not text.strip():
        return {}
    if len(text) > most or _depth(text) > MAX_DEPTH:
        raise InvalidForm(
            [DocumentError("", f"The text may have at most {most} characters and {MAX_DEPTH} nested brackets")]
        )
    try:
        found = from_shallow_yaml(text) if _has_no_aliases(text) else None
    except (YAMLError, ValueError, OverflowError) as error:  # the last two report invalid dates and numbers
        raise InvalidForm([DocumentError("", f"This is not YAML: {error}")]) from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise InvalidForm([DocumentError("", "Enter fields as `field: value`; anchors and aliases are not allowed")])
    return found


def _has_no_aliases(text: str) -> bool:
    """Return True if the text has no aliases; raises InvalidForm as soon as it is nested too deeply."""
    depth = 0
    for event in events_of(text):
        if isinstance(event, AliasEvent):
            return False
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InvalidForm([DocumentError("", f"The text may be nested at most {MAX_DEPTH} deep")])
    return True


def _depth(text: str) -> int:
    """Return a lower bound of the nesting depth of brackets, since the parser is slow on deep nesting."""
    depth = deepest = 0
    for bracket in BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def to_yaml_text(values: Mapping[str, Any]) -> str:
    return as_yaml(dict(values)) if values else ""


def refusal_errors(refusal: Refused) -> list[DocumentError]:
    """Return a refusal as form errors; refusals that are unrelated to the form are raised again."""
    if isinstance(refusal, InvalidChange):
        return refusal.faults
    if refusal.code in ("permission.denied", "not-found", "rate.exceeded"):
        raise refusal
    return [DocumentError(refusal.pointer, refusal.detail)]


def errors_by_field(faults: Sequence[DocumentError], places: Mapping[str, str]) -> Mapping[str, str]:
    """Return the errors of each form field: ``places`` maps the beginning of an error's pointer to a field."""
    found: defaultdict[str, str] = defaultdict(str)
    for fault in faults:
        field = next((field for place, field in places.items() if (fault.pointer + "/").startswith(place + "/")), "")
        found[field] = found[field] or fault.detail
    return found


def parse_number(text: str) -> int | None:
    """Parse a version or number from a form, or return None."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
    return number if number is not None and number <= MAX_NUMBER else None
