"""Flat files: delimited or positional records in UTF-8 or any single-byte charset, including EBCDIC.

    examine, split   splits a file by its layout; compares the declared record count and hash total
    assemble         writes members with header and trailer records, as a stream

``layout.py`` lists the options of a layout; its templates write and read header and trailer records.
"""

from __future__ import annotations

from postroad.core.interchange.flat.assembler import assemble
from postroad.core.interchange.flat.layout import FlatLayout, layout_of
from postroad.core.interchange.flat.splitter import examine, split

__all__ = ["FlatLayout", "assemble", "examine", "layout_of", "split"]
