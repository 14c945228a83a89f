"""The two refusals that codecs make all the time, each with the place that is at fault."""

from __future__ import annotations

from postroad.errors import Refused


def malformed(detail: str, pointer: str = "") -> Refused:
    return Refused("wire.malformed", detail, pointer=pointer)


def too_complex(detail: str, pointer: str = "") -> Refused:
    return Refused("wire.too-complex", detail, pointer=pointer)
