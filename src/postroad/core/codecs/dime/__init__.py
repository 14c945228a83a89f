"""DIME, Direct Internet Message Encapsulation (draft-nielsen-dime-02): a sequence of records of typed bytes."""

from __future__ import annotations

from postroad.core.codecs.dime.options import fits
from postroad.core.codecs.dime.reader import looks_like_dime, read_dime
from postroad.core.codecs.dime.records import MEDIA_TYPE, DimeMessage, DimeRecord, TypeFormat
from postroad.core.codecs.dime.writer import write_dime

__all__ = [
    "MEDIA_TYPE",
    "DimeMessage",
    "DimeRecord",
    "TypeFormat",
    "fits",
    "looks_like_dime",
    "read_dime",
    "write_dime",
]
