"""CloudEvents against the SDK that the CloudEvents project itself gives to Python, in both directions and both modes.

The events of the conformance suite lie beside the repository in ``../shared/fixtures``; without them only our own are tried.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cloudevents.core.bindings.http import HTTPMessage, from_binary_event, to_binary_event, to_structured_event
from cloudevents.core.bindings.http import from_structured_event as from_structured
from cloudevents.core.v1.event import CloudEvent as SdkEvent
from hypothesis import given, settings

from postroad.core.codecs.cloudevents import (
    STRUCTURED,
    CloudEvent,
    read_binary,
    read_structured,
    write_binary,
    write_structured,
)
from tests.samples.cloud_events import EVENTS

CONFORMANCE = Path(__file__).parents[3] / "shared" / "fixtures" / "cloudevents"
FIELDS = {"datacontenttype": "data_content_type", "dataschema": "data_schema"}


def attributes_of(event: CloudEvent) -> dict[str, object]:
    """Ours, under the names of the wire."""
    names = ("id", "source", "type", "subject", "time", "datacontenttype", "dataschema")
    given = {name: getattr(event, FIELDS.get(name, name)) for name in names}
    return {name: value for name, value in given.items() if value} | dict(event.extensions)


def said_by(event: Any) -> dict[str, object]:
    """The SDK's, times as text again."""
    said = {name: value for name, value in event.get_attributes().items() if name != "specversion"}
    if isinstance(said.get("time"), datetime):
        said["time"] = said["time"].isoformat().replace("+00:00", "Z")
    return said


def conformance() -> list[SdkEvent]:
    """The events of the conformance suite; YAML's block texts end with a line end, which no attribute may have."""
    found = []
    for path in sorted(CONFORMANCE.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            attributes = document["ContextAttributes"]
            attributes |= {name: value.rstrip("\n") for name, value in attributes.pop("Extensions", {}).items()}
            attributes["specversion"] = str(attributes["specversion"])
            found.append(SdkEvent(attributes, document["Data"]))
    return found


def ours() -> list[SdkEvent]:
    base = {"id": "1", "source": "/é", "type": "a b", "time": datetime.fromisoformat("2018-04-05T17:31:00+02:00")}
    return [
        SdkEvent({**base, "subject": 'quoted "%" 😀', "extension": "€"}, {"a": [1, 2.5, None, "é"]}),
        SdkEvent({**base, "datacontenttype": "application/xml"}, "<é/>"),
        SdkEvent({**base, "datacontenttype": "image/png", "dataschema": "urn:x"}, b"\x00\xff"),
        SdkEvent(base, None),
    ]


EVENTS_OF_THE_SDK = [*conformance(), *ours()]
every_event = pytest.mark.parametrize("event", EVENTS_OF_THE_SDK, ids=range(len(EVENTS_OF_THE_SDK)))


@pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)
def test_the_conformance_suite_is_there() -> None:
    assert len(conformance()) == 8


def as_bytes(data: object, content_type: str) -> bytes | None:
    """What the SDK's data are on the wire."""
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str) and content_type and "json" not in content_type:
        return data.encode()
    return json.dumps(data).encode()


@pytest.mark.req("T8", "K3")
@every_event
def test_events_in_json_of_the_sdk_are_read(event: SdkEvent) -> None:
    message = to_structured_event(event)
    assert message.headers == {"content-type": STRUCTURED}
    read = read_structured(message.body)
    said = said_by(event)
    assert read.data == as_bytes(event.get_data(), str(said.get("datacontenttype", "")))
    if read.data is not None:
        said.setdefault("datacontenttype", "application/json")
    assert attributes_of(read) == said


@pytest.mark.req("T8", "K3")
@every_event
def test_events_in_headers_of_the_sdk_are_read(event: SdkEvent) -> None:
    message = to_binary_event(event)
    read = read_binary(list(message.headers.items()), message.body)
    assert attributes_of(read) == said_by(event)
    assert (read.data or b"") == message.body


@pytest.mark.req("T8", "K3")
@every_event
def test_events_that_the_sdk_wrote_are_the_same_for_it_when_we_wrote_them_again(event: SdkEvent) -> None:
    structured = to_structured_event(event)
    again = from_structured(HTTPMessage(structured.headers, write_structured(read_structured(structured.body))))
    assert again.get_data() == from_structured(structured).get_data()
    assert said_by(event).items() <= said_by(again).items()
    binary = to_binary_event(event)
    headers, body = write_binary(read_binary(list(binary.headers.items()), binary.body))
    assert {name.lower(): value for name, value in headers} == binary.headers
    assert body == binary.body


@pytest.mark.req("T8", "K3")
@given(event=EVENTS)
@settings(max_examples=300)
def test_the_sdk_reads_what_we_write(event: CloudEvent) -> None:
    read = from_structured(HTTPMessage({"content-type": STRUCTURED}, write_structured(event)))
    data = read.get_data()
    raw = json.loads(write_structured(event))
    assert data == (base64.b64decode(raw["data_base64"]) if "data_base64" in raw else raw.get("data"))
    assert without_time(said_by(read)) == without_time(attributes_of(event))
    headers, body = write_binary(event)
    assert body == (event.data or b"")
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in attributes_of(event).items()
    }
    assert without_time(said_by(from_binary_event(HTTPMessage(dict(headers), body)))) == without_time(texts)


def without_time(attributes: Mapping[str, object]) -> dict[str, object]:
    """The SDK gives an event without a time one of its own, and knows no nanoseconds."""
    return {name: value for name, value in attributes.items() if name != "time"}
