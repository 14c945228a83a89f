"""The network's address and the caller's credentials, given directly or by the environment.

``POSTROAD_URL`` is the address; ``POSTROAD_KEY`` the API key, or ``POSTROAD_KEY_FILE`` a file that contains it. A key
in a file does not appear in process listings and shell histories, so the documentation recommends that.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from urllib.parse import urlsplit

from postroad.errors import Misconfigured

DEFAULT_URL = "http://127.0.0.1:8470"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The network's URL and the Authorization header, which is never shown."""

    url: str = DEFAULT_URL
    authorization: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        faults = [*_address_faults(self.url), *_key_faults(self.authorization)]
        if faults:
            raise Misconfigured(faults)

    @classmethod
    def with_key(cls, url: str, key: str) -> Access:
        key = key.strip()
        return cls(url=url, authorization=f"Bearer {key}" if key else "")

    @classmethod
    def with_password(cls, url: str, name: str, password: str) -> Access:
        """A service (GCID or address) or a person (e-mail) with a password."""
        return cls(url=url, authorization="Basic " + base64.b64encode(f"{name}:{password}".encode()).decode())

    @classmethod
    def found_in(
        cls, environment: Mapping[str, str], *, url: str = "", key: str = "", key_file: str | PathLike[str] = "",
        needs_key: bool = False,
    ) -> Access:  # fmt: skip
        """Return the given address and key, or those of the environment."""
        known = "" if key_file else environment.get("POSTROAD_KEY", "")
        found = key or known or _key_in_file(key_file or environment.get("POSTROAD_KEY_FILE", ""))
        if needs_key and not found:
            raise Misconfigured(["no key: pass key or key_file, or set POSTROAD_KEY_FILE to a file that holds the key"])
        return cls.with_key(url or environment.get("POSTROAD_URL", "") or DEFAULT_URL, found)


def _key_in_file(path: str | PathLike[str]) -> str:
    if not path:
        return ""
    try:
        key = Path(path).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured([f"the key file {path} cannot be read: {_reason(error)}"]) from error
    if not key:
        raise Misconfigured([f"the key file {path} is empty; `postroad keys make --output FILE` creates a key"])
    return key


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return "it is not a text file" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)


def _address_faults(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    return [] if is_address else [f"{url!r} is not the address of a network; write it like {DEFAULT_URL}"]


def _key_faults(authorization: str) -> list[str]:
    """Return errors in the key; it is not quoted, because it may be nearly right."""
    is_one_word = authorization.isascii() and authorization.isprintable() and len(authorization.split()) in (0, 2)
    return [] if is_one_word else ["the key must consist of ASCII letters, digits and _; pass it exactly as issued"]
