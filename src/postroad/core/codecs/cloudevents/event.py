"""An event of CloudEvents 1.0, and the rules for its attributes that apply in every mode.

Rule: both modes first collect attributes by name, and one function makes an event of them, so that neither mode
accepts what the other would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from postroad.core.codecs.lexical import read_text, read_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.errors import Refused

Attribute = str | int | bool
SPEC_VERSION = "1.0"
REQUIRED = ("id", "source", "type")
_FIELDS = {  # names on the wire, names here
    "id": "id",
    "source": "source",
    "type": "type",
    "subject": "subject",
    "time": "time",
    "datacontenttype": "data_content_type",
    "dataschema": "data_schema",
}
_TAKEN = frozenset((*_FIELDS, "specversion", "data"))
_LONGEST_NAME = 100
_NAME = re.compile(rf"[a-z0-9]{{1,{_LONGEST_NAME}}}")
_INTEGERS = range(-(1 << 31), 1 << 31)
# Controls and what Unicode will never make a character; the other planes' last two code points are found by arithmetic.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef]")


class CloudEvent(Struct, gc=False, frozen=True, kw_only=True):
    id: str
    source: str
    type: str
    subject: str = ""
    time: str = ""  # as it was written
    data_content_type: str = ""
    data_schema: str = ""
    extensions: tuple[tuple[str, Attribute], ...] = ()
    data: bytes | None = None  # the document's own bytes; none at all differs from an empty document


def is_attribute_name(name: str) -> bool:
    """Whether an extension may have this name."""
    return _NAME.fullmatch(name) is not None and name not in _TAKEN


def event_of(given: Mapping[str, Attribute], data: bytes | None, pointer: str, limits: WireLimits) -> CloudEvent:
    """The event with these attributes, by their names on the wire; anything the specification does not allow is refused."""
    _check_version(given.get("specversion"), pointer)
    missing = [name for name in REQUIRED if name not in given]
    if missing:
        raise malformed(f"a CloudEvent has the attributes id, source and type; {missing[0]} is missing", pointer)
    fields = {_FIELDS[name]: _core_text(given[name], name, pointer, limits) for name in _FIELDS if name in given}
    if "time" in fields:
        read_time(fields["time"], f"{pointer}/time")
    if not fields.get("data_content_type", "").isascii():
        raise malformed("datacontenttype is a media type, written in ASCII", f"{pointer}/datacontenttype")
    return CloudEvent(**fields, extensions=_extensions(given, pointer, limits), data=data)


def _check_version(version: Attribute | None, pointer: str) -> None:
    if version is None:
        raise malformed("a CloudEvent must specify its version; specversion is missing", pointer)
    if version != SPEC_VERSION:
        said = repr(version)[:40]
        raise Refused(
            "wire.unsupported",
            f"CloudEvents version {said} is not supported; send version {SPEC_VERSION}",
            pointer=f"{pointer}/specversion",
        )


def _core_text(value: Attribute, name: str, pointer: str, limits: WireLimits) -> str:
    if not isinstance(value, str) or not value:
        raise malformed(f"{name} must be a non-empty text", f"{pointer}/{name}")
    return _text(value, f"{pointer}/{name}", limits)


def _extensions(given: Mapping[str, Attribute], pointer: str, limits: WireLimits) -> tuple[tuple[str, Attribute], ...]:
    names = [name for name in given if name not in _FIELDS and name != "specversion"]
    if len(names) > limits.properties:
        raise too_complex(f"the event has {len(names)} extensions; at most {limits.properties} are allowed", pointer)
    for name in names:
        if not is_attribute_name(name):
            raise malformed(
                f"{name[:40]!r} cannot be an attribute; names are 1 to {_LONGEST_NAME} of a-z and 0-9",
                f"{pointer}/{name[:40]}",
            )
    return tuple([(name, _extension(given[name], f"{pointer}/{name}", limits)) for name in names])


def _extension(value: Attribute, pointer: str, limits: WireLimits) -> Attribute:
    if isinstance(value, str):
        return _text(value, pointer, limits)
    if not isinstance(value, bool) and value not in _INTEGERS:
        raise malformed("a whole number here must be between -2147483648 and 2147483647; send others as text", pointer)
    return value


def _text(value: str, pointer: str, limits: WireLimits) -> str:
    read_text(value, pointer, limits)
    if not value.isprintable() and (_FORBIDDEN.search(value) or any(ord(one) & 0xFFFE == 0xFFFE for one in value)):
        raise malformed("an attribute has a control character or an invalid character", pointer)
    return value


def attributes_of(event: CloudEvent) -> Iterator[tuple[str, Attribute]]:
    """The attributes that are set, by their names on the wire."""
    if not (event.id and event.source and event.type):
        raise ValueError("a CloudEvent has an id, a source and a type")
    yield "specversion", SPEC_VERSION
    for name, field in _FIELDS.items():
        value = getattr(event, field)
        if value:
            yield name, value
    yield from event.extensions
