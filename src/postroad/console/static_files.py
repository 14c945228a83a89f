"""Styles, scripts and images of the console, served under names that contain their digests.

Rules: a file is served under its digest and may be cached indefinitely; only files in the folder are served.
Third-party files are in ``vendor`` with version, licence and hash in ``VENDOR.toml``, and a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

PREFIX = "/static/"
CACHE_INDEFINITELY = "public, max-age=31536000, immutable"
NO_CONTENT_POLICY = {
    "Content-Security-Policy": "default-src 'none'"
}  # of a file that is opened by itself and not by a page
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    content: bytes
    media_type: str
    url: str


def _read(folder: Traversable, prefix: str = "") -> dict[str, StaticFile]:
    found: dict[str, StaticFile] = {}
    for item in folder.iterdir():
        name = f"{prefix}{item.name}"
        if item.is_dir():
            found |= _read(item, f"{name}/")
            continue
        dot = item.name.rfind(".")
        content = item.read_bytes()
        digest = blake2b(content, digest_size=8).hexdigest()
        stem, ending = name[: len(name) - len(item.name) + dot], item.name[dot:]
        found[name] = StaticFile(content=content, media_type=TYPES[ending], url=f"{PREFIX}{stem}.{digest}{ending}")
    return found


FILES = _read(files("postroad.console").joinpath("static"))
_BY_URL = {file.url: file for file in FILES.values()}


def static_url(name: str) -> str:
    """Return the URL of a file; raises KeyError if it does not exist."""
    return FILES[name].url


async def serve_static(request: Request) -> Response:
    file = _BY_URL.get(request.url.path)
    if file is None:
        return Response("The file does not exist; reload the page.", 404, NO_CONTENT_POLICY, media_type="text/plain")
    return Response(
        file.content, headers=NO_CONTENT_POLICY | {"Cache-Control": CACHE_INDEFINITELY}, media_type=file.media_type
    )
