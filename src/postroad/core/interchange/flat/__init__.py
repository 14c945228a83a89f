"""Flat files: records, delimited or of fixed positions, in any single-byte charset, EBCDIC among them, or UTF-8.

    examine, split   a file split by its layout; record count and hash total held against what came
    assemble         members put together, with header and trailer records, as a stream

``layout.py`` lists what a layout may say; its templates write and read header and trailer records.
"""

from __future__ import annotations

from postroad.core.interchange.flat.assembler import assemble
from postroad.core.interchange.flat.layout import FlatLayout, layout_of
from postroad.core.interchange.flat.splitter import examine, split

__all__ = ["FlatLayout", "assemble", "examine", "layout_of", "split"]
