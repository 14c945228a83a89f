"""Parameters of a header, such as the boundary in a Content-Type.

Kept rule: reading is one pass from left to right, whatever the text. A value without its closing quote goes to the end
of the text; what is no parameter is passed over.
"""

from __future__ import annotations

import re

from postroad.core.codecs.faults import malformed, too_complex
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits

LONG_BOUNDARY = "the boundary is none that RFC 2046 allows"

_PARAMETER = re.compile(
    r'\s*+([^\s=;"]++)\s*+=\s*+(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)|([^\s;"]*+))',
    re.DOTALL,
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_ANY_BOUNDARY = re.compile(r"[ -~]{0,199}[!-~]")


def read_parameters(value: str, limits: WireLimits = DEFAULT_LIMITS) -> tuple[tuple[str, str], ...]:
    """Names in lower case and values without quotes, in the order in which they stand."""
    found: list[tuple[str, str]] = []
    at = value.find(";")
    while at >= 0:
        match = _PARAMETER.match(value, at + 1)
        if match:
            name, quoted, token = match.groups()
            found.append((name.lower(), token if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)))
            if len(found) > limits.mime_parameters:
                raise too_complex(f"a header has at most {limits.mime_parameters} parameters")
        at = value.find(";", match.end() if match else at + 1)
    return tuple(found)


def parameter(value: str, name: str, limits: WireLimits = DEFAULT_LIMITS) -> str:
    """The first parameter of that name (given in lower case), "" when there is none."""
    return next((text for key, text in read_parameters(value, limits) if key == name), "")


def read_boundary(content_type: str, limits: WireLimits) -> tuple[bytes, tuple[str, ...]]:
    """The boundary of a multipart, and whether it was tolerated only."""
    boundaries = {text.rstrip() for name, text in read_parameters(content_type, limits) if name == "boundary"}
    if len(boundaries) != 1:
        raise malformed('a multipart Content-Type names one boundary: multipart/related; boundary="…"')
    (boundary,) = boundaries
    if not _ANY_BOUNDARY.fullmatch(boundary):
        raise malformed("a boundary consists of 1 to 70 characters that RFC 2046 allows")
    return boundary.encode("ascii"), () if _BOUNDARY.fullmatch(boundary) else (LONG_BOUNDARY,)
