"""The origin of a redirect address, for a Content-Security-Policy header."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

ORIGIN = re.compile(r"https?://[a-z0-9.:\[\]-]+", re.ASCII)


def page_origin(url: str) -> str:
    """Return the origin that the policy must allow; empty if it cannot be determined safely."""
    parts = urlsplit(url)
    text = f"{parts.scheme}://{parts.netloc}".lower()
    return text if ORIGIN.fullmatch(text) else ""
