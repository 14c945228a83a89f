"""MIME: entities and multiparts, read as views into the received bytes and written as lists of buffers.

A ``head`` is header lines; an ``Entity`` is a head, an empty line and a body; a ``Multipart`` is entities between
boundary lines. ``related`` finds the root of a SOAP message with attachments among them. The transfer encoding of a
part is undone when someone asks for its data, and not before.
"""

from __future__ import annotations

from postroad.core.codecs.mime.entity import Entity, entity_of, read_entity
from postroad.core.codecs.mime.fields import bare_id, write_head
from postroad.core.codecs.mime.multipart import Multipart, make_boundary, read_multipart, write_multipart
from postroad.core.codecs.mime.parameters import find_parameter, read_parameters
from postroad.core.codecs.mime.related import Related, read_related
from postroad.core.codecs.mime.transfer import encode_content

__all__ = [
    "Entity",
    "Multipart",
    "Related",
    "bare_id",
    "encode_content",
    "entity_of",
    "find_parameter",
    "make_boundary",
    "read_entity",
    "read_multipart",
    "read_parameters",
    "read_related",
    "write_head",
    "write_multipart",
]
