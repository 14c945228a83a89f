"""Content transfer encodings: base64, quoted-printable and identity.

Rule: content is decoded exactly or refused. White space in base64 is line breaking and ignored; any other character
outside the alphabet may be damage, and so may an invalid escape in quoted-printable.
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64, a2b_qp, b2a_base64, b2a_qp
from typing import Literal

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.refusals import malformed
from postroad.errors import Refused

Encoding = Literal["base64", "quoted-printable", "binary"]

IDENTITY = ("", "binary", "8bit", "7bit")
_WHITE = b" \t\r\n"
_LINE_CHARS = 76
_LINE_END_SPACE = re.compile(rb"[ \t]\r?(?:\n|\Z)")
_NO_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2}|\r?\n|\Z)")


def decode_content(body: memoryview, encoding: str) -> Buffer:
    """Decodes content; returns ``body`` itself when it has no transfer encoding."""
    if encoding in IDENTITY:
        return body
    if encoding == "base64":
        return _from_base64(bytes(body))
    if encoding == "quoted-printable":
        return _from_quoted_printable(bytes(body))
    raise Refused(
        "wire.unsupported",
        f"the transfer encoding {encoding[:40]!r} is not supported; use base64, quoted-printable, 8bit, 7bit or binary",
    )


def _from_base64(body: bytes) -> bytes:
    try:
        return a2b_base64(body.translate(None, _WHITE), strict_mode=True)
    except NotBase64:
        raise malformed(
            "a part declared as base64 is not valid: it has other characters, or its padding is wrong; it may be "
            "truncated"
        ) from None


def _from_quoted_printable(body: bytes) -> bytes:
    if _LINE_END_SPACE.search(body):
        body = b"\n".join([_without_space(line) for line in body.split(b"\n")])
    fault = _NO_ESCAPE.search(body)
    if fault:
        raise malformed(
            f"a part declared as quoted-printable is not valid: the '=' at byte {fault.start()} is not followed by "
            "two hexadecimal digits or a line end"
        )
    return a2b_qp(body)


def _without_space(line: bytes) -> bytes:
    """Space at the end of a line was added on the way (RFC 2045, 6.7); the line's CR stays."""
    kept = line.removesuffix(b"\r")
    return kept.rstrip(b" \t") + line[len(kept) :]


def encode_content(data: Buffer, encoding: Encoding) -> bytes:
    """Return ``data`` in a transfer encoding, in lines of at most 76 characters; decoding restores every byte."""
    if encoding == "base64":
        text = b2a_base64(data, newline=False)
        return b"\r\n".join([text[at : at + _LINE_CHARS] for at in range(0, len(text), _LINE_CHARS)])
    if encoding == "quoted-printable":
        written = b2a_qp(
            data, quotetabs=False, istext=False
        )  # line ends in it are its own: it writes those of the data as =0A
        return written.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return bytes(data)
