"""Parameters of a header, such as the boundary in a Content-Type.

Rule: reading is one pass from left to right, whatever the text. A value without its closing quote goes to the end
of the text; what is no parameter is passed over.
"""

from __future__ import annotations

import re

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import too_complex

Parameters = tuple[tuple[str, str], ...]

# Every match begins at a semicolon and takes everything up to the next one that is not quoted, so none is tried twice.
_PARAMETER = re.compile(
    r';[\s;]*+(?:([^\s=;"]++)\s*+=\s*+(?:"([^"\\]*+(?:\\.[^"\\]*+)*)|([^\s;"]*+))|)[^;]*+',
    re.DOTALL,
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


def read_parameters(value: str, limits: WireLimits = DEFAULT_LIMITS) -> Parameters:
    """Return the parameters in order, with names in lower case and values without quotes."""
    found: list[tuple[str, str]] = []
    for match in _PARAMETER.finditer(value):
        name, quoted, token = match.groups("")
        if name:
            found.append((name.lower(), _QUOTED_PAIR.sub(r"\1", quoted) or token))
        if len(found) > limits.mime_parameters:
            raise too_complex(f"a header has at most {limits.mime_parameters} parameters; this one has more")
    return tuple(found)


def find_parameter(parameters: Parameters, name: str) -> str:
    """The first parameter of that name (given in lower case), "" when there is none."""
    return next((value for key, value in parameters if key == name), "")
