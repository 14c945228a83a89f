"""XOP (MTOM): an XML root whose binary values are parts beside it. Its includes stay as they are; they are references."""

from __future__ import annotations

from postroad.core.codecs.media import media_type_of

XOP = "application/xop+xml"


def is_xop(content_type: str) -> bool:
    """Whether this is the content type of a root that includes other parts."""
    return media_type_of(content_type) == XOP
