"""A cookie as people write it, and what is wrong with one that not every wire form could carry."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, StrictStr, model_validator

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.configuration.shapes import Shape, Word
from postroad.core.model.trust import COOKIE_CHARS_MOST

CONTENT_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:;[\x20-\x7e]*)?", re.ASCII)
CONTENT_TYPE_CHARS_MOST = 200


def cookie_fault(content: str, content_type: str) -> str:
    """What is wrong with a cookie; empty when nothing is."""
    if not 0 < len(content) <= COOKIE_CHARS_MOST:
        return f"a cookie has 1 to {COOKIE_CHARS_MOST} characters of text or XML"
    if found := NOT_XML.search(content):
        return f"the character U+{ord(found.group()):04X} cannot stand in a cookie"
    if len(content_type) > CONTENT_TYPE_CHARS_MOST or not CONTENT_TYPE.fullmatch(content_type):
        return "the content type of a cookie is written like text/plain or application/xml"
    return ""


class CookieEntry(Shape):
    """What a service is told with every message from one sender."""

    sender: Annotated[Word, Field(alias="from", description="GCID or address of the sender")]
    content: Annotated[StrictStr, Field(description="Text or XML")]
    content_type: StrictStr = "text/plain"

    @model_validator(mode="after")
    def can_be_carried(self) -> Self:
        if fault := cookie_fault(self.content, self.content_type):
            raise ValueError(fault)
        return self
