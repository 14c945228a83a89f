"""Where the network is and how to prove who is asking: given outright, or found in the environment.

``POSTROAD_URL`` is the address; ``POSTROAD_KEY`` the API key, or ``POSTROAD_KEY_FILE`` a file that holds it. A key in a file
stays out of process listings and shell histories, so that is what the documentation recommends.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from postroad.errors import Misconfigured

DEFAULT_URL = "http://127.0.0.1:8470"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An address and the value of the Authorization header; the latter is never shown."""

    url: str = DEFAULT_URL
    authorization: str = field(default="", repr=False)

    @classmethod
    def with_key(cls, url: str, key: str) -> Access:
        return cls(url=url, authorization=f"Bearer {key}" if key else "")

    @classmethod
    def with_password(cls, url: str, name: str, password: str) -> Access:
        """A service (GCID or address) or a person (e-mail) with a password."""
        return cls(url=url, authorization="Basic " + base64.b64encode(f"{name}:{password}".encode()).decode())

    @classmethod
    def found_in(
        cls, environment: Mapping[str, str], *, url: str = "", key: str = "", key_file: str | PathLike[str] = ""
    ) -> Access:
        """What was given, else what the environment says."""
        known = "" if key_file else environment.get("POSTROAD_KEY", "")
        return cls.with_key(
            url or environment.get("POSTROAD_URL", "") or DEFAULT_URL,
            key or known or _key_in_file(key_file or environment.get("POSTROAD_KEY_FILE", "")),
        )


def _key_in_file(path: str | PathLike[str]) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text().strip()
    except OSError as error:
        raise Misconfigured([f"the key file cannot be read: {error}"]) from error
