"""Plans and exports the cookies of a service.

Rule: only the service's own organization sees a cookie. So an export for anyone else omits cookies, a plan shows that
one is new but not its content, and a document without cookies leaves them unchanged.
"""

from __future__ import annotations

from typing import Any

from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import ServiceEntry, pointer
from postroad.core.model.directory import Service
from postroad.core.model.ids import GCID
from postroad.core.model.snapshot import Directory
from postroad.core.model.trust import RegisteredCookie


def wanted_cookies(service: Service, wish: ServiceEntry, here: str, planning: PlanningContext) -> list[WantedObject]:
    found: dict[str, WantedObject] = {}
    for number, entry in enumerate(wish.cookies or ()):
        place = here + pointer("cookies", number)
        sender = _sender(entry.sender, service, planning.directory)
        if sender is None:
            planning.fault(place + "/from", "no such service is visible to you; use its GCID")
            continue
        if sender in found:
            planning.fault(place + "/from", "there is another cookie for this sender")
        cookie = RegisteredCookie(
            service=service.gcid, sender=sender, content=entry.content, content_type=entry.content_type
        )
        found[sender] = WantedObject(place, cookie, f"{service.address}: cookie for {entry.sender}")
    return list(found.values())


def _sender(named: str, service: Service, directory: Directory) -> str | None:
    if GCID.match(named):
        return named
    found = directory.service(named)
    return found.gcid if found is not None and directory.visible(found, service.organization) else None


def prunable_cookies(service: Service, wish: ServiceEntry | None, directory: Directory) -> list[RegisteredCookie]:
    """The service's cookies where the document lists any; with a service that goes they go by themselves."""
    return [] if wish is None or wish.cookies is None else directory.cookies_of(service.gcid)


def exported_cookies(service: Service, directory: Directory) -> dict[str, Any]:
    cookies = directory.cookies_of(service.gcid)
    return {"cookies": [_written(item) for item in cookies]} if cookies else {}


def _written(cookie: RegisteredCookie) -> dict[str, Any]:
    kind = {} if cookie.content_type == "text/plain" else {"contentType": cookie.content_type}
    return {"from": cookie.sender, "content": cookie.content} | kind
