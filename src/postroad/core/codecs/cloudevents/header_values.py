"""Any text as the value of an HTTP header, in the percent-coding of CloudEvents' HTTP binding (section 3.1.3.2).

Rule: ``header_text(header_value(text)) == text`` for every text, and what comes out of ``header_value`` is visible ASCII.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from postroad.core.codecs.refusals import malformed

_AS_IS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def header_value(text: str) -> str:
    """The text for a header: everything but visible ASCII is percent-coded, and so are quotes and percent signs."""
    return quote(text, safe=_AS_IS)


def header_text(value: str) -> str:
    """The text that a header's value says. Older senders quote instead; a percent sign that codes nothing is left alone."""
    value = value.strip(" \t")
    if not value.isascii():
        value = _from_bytes(value)
    quoted = _QUOTED.fullmatch(value) if value[:1] == '"' else None
    if quoted:
        value = re.sub(r"\\(.)", r"\1", quoted.group(1), flags=re.DOTALL)
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise malformed(f"the header value {value[:40]!r} codes bytes that are not UTF-8") from None


def _from_bytes(value: str) -> str:
    """HTTP servers read headers as Latin-1; who sent bare UTF-8 against the rules is understood all the same."""
    try:
        return value.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return value
