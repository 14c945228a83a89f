"""The two refusals that codecs raise most often, each with a pointer to the error."""

from __future__ import annotations

from postroad.errors import Refused


def malformed(detail: str, pointer: str = "") -> Refused:
    return Refused("wire.malformed", detail, pointer=pointer)


def too_complex(detail: str, pointer: str = "") -> Refused:
    return Refused("wire.too-complex", detail, pointer=pointer)
