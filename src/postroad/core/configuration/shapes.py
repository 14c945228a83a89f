"""Base types of profiles and entries: strict, bounded, written in camelCase.

Rule: nothing is converted silently. A number in quotes and an unknown field are errors, each reported with its
location. Pydantic does the checking here (and not msgspec, as elsewhere in core), because it finds all errors at once
and because FastAPI can document the same types.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr, StringConstraints
from pydantic.alias_generators import to_camel

LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
PROSE = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
NAME = r"^[^\W_]([\w .&()+-]{0,62}[\w.)])?$"
EMAIL = r"^[^@\s:/\x00-\x1f\x7f]{1,64}@[^@\s:/\x00-\x1f\x7f]{1,189}$"
GCID = r"^[0-9a-f]{16}$"
MAX_URL_CHARS = 2_000
# Only what RFC 3986 allows, and a host of letters, digits, dots and hyphens (or an IPv6 address in brackets).
PAGE_URL = re.compile(
    r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
    r"(?:[/?#](?:[A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?",
    re.ASCII,
)


class StrictShape(BaseModel):
    """The base class of all entries and profiles: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    def named_fields(self) -> frozenset[str]:
        """The names, as people write them, of the fields that were set and not left at their defaults."""
        fields = type(self).model_fields
        return frozenset(fields[name].alias or name for name in self.model_fields_set)


def check_url(text: str) -> str:
    """An http(s) address of some host, without credentials in it; or nothing."""
    if not text:
        return text
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or any(character.isspace() or ord(character) < 33 for character in text):
        raise ValueError("must be a whole http or https address, such as https://example.com/in")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not contain a user name or password; specify the location of the secret instead")
    return text


def check_page_url(text: str) -> str:
    """Return an address that people are redirected to, or refuse one that browsers could misread."""
    if text and not PAGE_URL.fullmatch(check_url(text)):
        raise ValueError(
            "must be a plain https address, such as https://example.com/provisioning; encode other characters"
        )
    return text


def unique(items: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(items)) != len(items):
        raise ValueError("must not contain duplicates")
    return items


Line = Annotated[StrictStr, StringConstraints(max_length=200, pattern=LINE)]
Word = Annotated[StrictStr, StringConstraints(min_length=1, max_length=200, pattern=LINE)]
Prose = Annotated[StrictStr, StringConstraints(max_length=4_000, pattern=PROSE)]
Name = Annotated[StrictStr, StringConstraints(min_length=1, max_length=64, pattern=NAME)]
Email = Annotated[StrictStr, StringConstraints(min_length=3, max_length=254, pattern=EMAIL)]
Gcid = Annotated[StrictStr, StringConstraints(pattern=GCID)]
Url = Annotated[StrictStr, Field(max_length=MAX_URL_CHARS), AfterValidator(check_url)]
PageUrl = Annotated[StrictStr, Field(max_length=MAX_URL_CHARS), AfterValidator(check_page_url)]
SECRET_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # noqa: S105 - the pattern of NAME in secret:NAME
SecretFrom = Annotated[
    StrictStr,
    StringConstraints(
        max_length=500,
        pattern=rf"^((env:[A-Za-z_][A-Za-z0-9_]*)|(file:[^\x00-\x1f\x7f]+)|(secret:{SECRET_NAME}))$",
    ),
]
SecretName = Annotated[StrictStr, StringConstraints(pattern=rf"^{SECRET_NAME}$")]
Password = Annotated[StrictStr, StringConstraints(min_length=1, max_length=256, pattern=LINE)]
Key = Annotated[StrictStr, StringConstraints(pattern=r"^pr_[0-9a-f]{16}_[0-9a-f]{48}_[0-9a-f]{8}$")]
Pem = Annotated[StrictStr, StringConstraints(min_length=1, max_length=20_000)]
Seconds = Annotated[StrictInt, Field(ge=0, le=31_536_000)]
Count = Annotated[StrictInt, Field(ge=0, le=1_000_000_000_000)]
Rate = Annotated[StrictInt, Field(ge=0, le=1_000_000)]
RoleName = Literal["owner", "developer", "viewer"]
