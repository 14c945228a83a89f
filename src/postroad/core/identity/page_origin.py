"""The origin of an address that a browser is sent to, for a policy that names it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

ORIGIN = re.compile(r"https?://[a-z0-9.:\[\]-]+", re.ASCII)


def page_origin(url: str) -> str:
    """What the browser must know of an address to go there from a form; empty where it could be mistaken."""
    parts = urlsplit(url)
    text = f"{parts.scheme}://{parts.netloc}".lower()
    return text if ORIGIN.fullmatch(text) else ""
