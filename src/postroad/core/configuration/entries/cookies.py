"""A cookie as people write it, and what is wrong with one that not every wire form could carry."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, StrictStr, model_validator

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.configuration.shapes import StrictShape, Word
from postroad.core.model.trust import MAX_COOKIE_CHARS

CONTENT_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:;[\x20-\x7e]*)?", re.ASCII)
MAX_CONTENT_TYPE_CHARS = 200


def cookie_error(content: str, content_type: str) -> str:
    """Return what is wrong with a cookie; empty if nothing is."""
    if not 0 < len(content) <= MAX_COOKIE_CHARS:
        return f"a cookie has 1 to {MAX_COOKIE_CHARS} characters of text or XML"
    if found := NOT_XML.search(content):
        return f"the character U+{ord(found.group()):04X} is not allowed in a cookie"
    if len(content_type) > MAX_CONTENT_TYPE_CHARS or not CONTENT_TYPE.fullmatch(content_type):
        return "the content type of a cookie is written like text/plain or application/xml"
    return ""


class CookieEntry(StrictShape):
    """Data that a service receives with every message from one sender."""

    sender: Annotated[Word, Field(alias="from", description="GCID or address of the sender")]
    content: Annotated[StrictStr, Field(description="Text or XML")]
    content_type: StrictStr = "text/plain"

    @model_validator(mode="after")
    def check_encodable(self) -> Self:
        if fault := cookie_error(self.content, self.content_type):
            raise ValueError(fault)
        return self
