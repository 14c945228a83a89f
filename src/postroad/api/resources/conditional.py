"""Conditional requests: ETag, If-Match and If-None-Match."""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Any

import msgspec
from fastapi import Header, Request, Response

from postroad.errors import Refused

IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=200, description="The ETag of the version that you have read")
]


def tag_of(version: int) -> str:
    """The ETag of an object's version."""
    return f'"{version}"'


def tag_of_view(view: Any) -> str:
    """An ETag of the public view of an object, which does not reveal other changes to it."""
    return f'"{blake2b(msgspec.json.encode(view, order="sorted"), digest_size=12).hexdigest()}"'


def check_if_match(if_match: str | None, current: int) -> int:
    """The version that the caller has read, when it is the current one."""
    if not if_match:
        raise Refused("version.required", "Send If-Match with the ETag of the version that you have read")
    tags = {tag.strip() for tag in if_match.split(",")}
    if str(current) in tags:
        raise Refused("version.conflict", f"Send the ETag unchanged, with its quotation marks: {tag_of(current)}")
    if not tags & {"*", tag_of(current)}:
        raise Refused("version.conflict", "It was changed since you read it; read it again and repeat your change")
    return current


def version_to_replace(if_match: str | None, if_none_match: str | None, current: int, *, exists: bool) -> int:
    """Return the version that a PUT replaces; a new object needs no If-Match, ``If-None-Match: *`` requires it to be new."""
    if exists:
        if if_none_match and not if_match:
            raise Refused("version.conflict", "An object with this name exists; read it, and send its ETag as If-Match")
        return check_if_match(if_match, current)
    if if_match:
        raise Refused("version.conflict", "There is no object with this name to replace; omit If-Match to create it")
    return current


def not_modified(request: Request, tag: str) -> Response | None:
    """304, when the client has this version already."""
    known = {item.strip().removeprefix("W/") for item in request.headers.get("if-none-match", "").split(",")}
    if not known & {"*", tag}:
        return None
    return Response(
        status_code=304, headers={"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    )
