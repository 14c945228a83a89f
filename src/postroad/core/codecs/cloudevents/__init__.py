"""CloudEvents 1.0: events in the JSON format (one, or a batch) and in HTTP's binary mode, where headers hold the attributes.

``event.py`` has the noun and the rules of the specification; the document inside an event keeps its bytes in every mode.
"""

from __future__ import annotations

from postroad.core.codecs.cloudevents.binary import header_text, header_value, read_binary, write_binary
from postroad.core.codecs.cloudevents.event import Attribute, CloudEvent, is_attribute_name
from postroad.core.codecs.cloudevents.structured import (
    BATCH,
    STRUCTURED,
    read_batch,
    read_structured,
    write_batch,
    write_structured,
)

__all__ = [
    "BATCH",
    "STRUCTURED",
    "Attribute",
    "CloudEvent",
    "header_text",
    "header_value",
    "is_attribute_name",
    "read_batch",
    "read_binary",
    "read_structured",
    "write_batch",
    "write_binary",
    "write_structured",
]
