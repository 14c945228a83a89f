"""The Content-Type of a multipart: its subtype, its boundary, and which part is the root.

Rule: the fast parser gives the same result as the general one, or leaves the value to it.
"""

from __future__ import annotations

import re

from msgspec import Struct

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime.fields import bare_id
from postroad.core.codecs.mime.parameters import find_parameter, read_parameters
from postroad.core.codecs.refusals import malformed
from postroad.errors import Refused

# As nearly everyone writes it: every parameter once, nothing escaped, boundary and start in quotes, the id in brackets.
_PLAIN = re.compile(
    r"(?i:multipart)/([!-:<-~]++)(?:;[ \t]*+(?:"
    r'(?(2)(?!)|(?i:boundary)="([!#-\[\]-~]{1,200}+)")'
    r'|(?(3)(?!)|(?i:start)="<([^\s"\\<>]++)>")'
    r'|(?!(?i:boundary|start["=\s]))[^\s=;"]++=(?:"[^"\\]*+"|[^\s;"\\]++)'
    r"))*"
)
MAX_BOUNDARY = 200
_BOUNDARY = re.compile(r"[ -~]{0,199}[!-~]")
_SHORTEST_PARAMETER = 4  # characters: ;a=b


class MultipartType(Struct, frozen=True):
    subtype: str
    boundary: bytes
    start: str = ""  # the root's Content-ID without its angle brackets; "" when none is named


def read_multipart_type(content_type: str, limits: WireLimits) -> MultipartType:
    short = len(content_type) <= _SHORTEST_PARAMETER * limits.mime_parameters
    plain = _PLAIN.fullmatch(content_type) if short else None
    if plain and plain[2]:
        subtype, boundary, start = plain.groups("")
        return MultipartType(subtype.lower(), boundary.encode(), start)
    return read_any_multipart_type(content_type, limits)


def read_any_multipart_type(content_type: str, limits: WireLimits) -> MultipartType:
    """Read the type with parameters in any form that ``read_parameters`` accepts."""
    kind, _, subtype = media_type_of(content_type).partition("/")
    if kind != "multipart":
        raise Refused("wire.unsupported", f"a multipart is expected here, not {content_type[:80]!r}")
    parameters = read_parameters(content_type, limits)
    boundaries = {value.rstrip(" ") for name, value in parameters if name == "boundary"}
    if len(boundaries) > 1:
        raise malformed("Content-Type has two boundaries; it must have one")
    boundary = "".join(boundaries)
    if len(boundary) > MAX_BOUNDARY:
        detail = f"the boundary has {len(boundary)} characters; at most {MAX_BOUNDARY} are read, and RFC 2046 allows 70"
        raise malformed(detail)
    if not _BOUNDARY.fullmatch(boundary):
        raise malformed('a multipart Content-Type must specify its boundary: multipart/related; boundary="…"')
    return MultipartType(subtype, boundary.encode(), bare_id(find_parameter(parameters, "start")))
