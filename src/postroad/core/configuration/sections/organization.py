"""The sections of an organization in a document: people and services, and the export of documents.

A later kind (bindings, models, batch policies) becomes one more class here and one more field of
``OrganizationEntry``; planning, applying, exporting and the schema follow from that.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from pydantic.alias_generators import to_camel

from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import OrganizationEntry, ServiceEntry, pointer
from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.configuration.sections.assets import exported_assets, prunable_assets, wanted_assets
from postroad.core.configuration.sections.billing import exported_billing
from postroad.core.configuration.sections.bindings import exported_bindings
from postroad.core.configuration.sections.credentials import wanted_credentials
from postroad.core.configuration.sections.rules import exported_rules, prunable_rules, wanted_rules
from postroad.core.configuration.sections.subscriptions import (
    SECTION,
    exported_subscriptions,
    prunable_subscriptions,
    wanted_subscriptions,
)
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import OrganizationLimits, Person, Role, Service, is_same_organization
from postroad.core.model.ids import GCID
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import OPERATORS
from postroad.core.model.trust import RegisteredCookie

GCID_DRAWN = "GCIDs are assigned by the network; omit it, or use the existing one"
NAME_TAKEN = "another service has this name; use its GCID or none, or rename or remove it first"
FOREIGN_ACCOUNT = "this address belongs to an account outside this organization"
USUAL = profile_of(ServiceProfile().service(gcid="", organization="", name=""))


class DocumentSection(Protocol):
    name: str

    def list_wanted(
        self, organization: str, entry: OrganizationEntry, place: str, planning: PlanningContext
    ) -> list[WantedObject]:
        """The objects that the document asks for."""
        ...

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        """The objects that exist now and that pruning removes when the document does not ask for them."""
        ...

    def export(self, organization: str, directory: Directory, *, for_members: bool) -> dict[str, Any]:
        """The section as a document would have it to change nothing; some things are written for members alone."""
        ...


class People:
    name = "people"

    def list_wanted(
        self, organization: str, entry: OrganizationEntry, place: str, planning: PlanningContext
    ) -> list[WantedObject]:
        found = []
        for email, person in entry.people.items():
            existing = planning.directory.person(email)
            here = place + pointer("people", email)
            if existing and (existing.operator or not is_same_organization(existing.organization, organization)):
                if all(
                    fault.detail != FOREIGN_ACCOUNT for fault in planning.faults
                ):  # one at a time: it tells who is there
                    planning.fault(here, FOREIGN_ACCOUNT)
                continue
            known = existing.email if existing else email
            unconfirmed = existing.unconfirmed if existing else ""
            value = Person(
                email=known,
                name=person.name,
                organization=organization,
                role=Role(person.role),
                unconfirmed=unconfirmed,
            )
            found.append(WantedObject(here, value, known, person.named_fields()))
        return found

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        people = [person for person in directory.people_of(organization) if not person.operator]
        listed = {email.casefold() for email in entry.people}
        gone = [person for person in people if person.email.casefold() not in listed]
        return people + [key for person in gone for key in directory.credentials_of(person=person.email)]

    def export(self, organization: str, directory: Directory, *, for_members: bool) -> dict[str, Any]:
        people = sorted(directory.people_of(organization), key=lambda person: person.email)
        return {
            person.email: _without_empty({"name": person.name, "role": person.role.value})
            for person in people
            if not person.operator
        }


class Services:
    name = "services"

    def list_wanted(
        self, organization: str, entry: OrganizationEntry, place: str, planning: PlanningContext
    ) -> list[WantedObject]:
        found = []
        for name, wish in entry.services.items():
            here = place + pointer("services", name)
            service = self._service(organization, name, wish, here, planning)
            if service is not None:
                named = wish.named_fields() | {"name"}
                found.append(WantedObject(here, service, service.address, named))
                for wanted_of in (wanted_credentials, wanted_assets, wanted_rules, wanted_cookies):
                    found += wanted_of(service, wish, here, planning)
        return found

    def _service(
        self, organization: str, name: str, wish: ServiceEntry, here: str, planning: PlanningContext
    ) -> Service | None:
        directory = planning.directory
        existing = directory.service(f"{organization}/{name}")
        if wish.gcid is not None and (existing is None or existing.gcid != wish.gcid):
            other = directory.services.get(wish.gcid)
            moved = other is not None and is_same_organization(other.organization, organization) and existing is None
            if not moved and (other is not None or existing is not None or not planning.may_choose_ids):
                planning.fault(here + "/gcid", NAME_TAKEN if existing is not None else GCID_DRAWN)
                return None
            existing = other
        if existing is not None and existing.hosted is Hosting.PROVISIONING:
            planning.fault(here, "is the network's own service; remove it")
            return None
        return wish.service(
            gcid=existing.gcid if existing else wish.gcid or next(planning.fresh_ids),
            organization=existing.organization if existing else organization,
            name=name if existing is None or existing.name.casefold() != name.casefold() else existing.name,
            suspended=existing.suspended if existing else "",
        )

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        found: list[Any] = []
        wishes = {name.casefold(): wish for name, wish in entry.services.items()}
        moved = {wish.gcid: wish for wish in entry.services.values() if wish.gcid}
        for service in directory.services_of(organization):
            if service.hosted is Hosting.PROVISIONING:
                continue  # the network's own
            found.append(service)
            wish = moved.get(service.gcid) or wishes.get(service.name.casefold())
            if wish is None or wish.credentials is not None:
                found += directory.credentials_of(service=service.gcid)
            found += prunable_assets(service, wish, directory)
            found += prunable_rules(service, wish, directory)
            found += prunable_cookies(service, wish, directory)
        return found

    def export(self, organization: str, directory: Directory, *, for_members: bool) -> dict[str, Any]:
        services = sorted(directory.services_of(organization), key=lambda service: service.name)
        return {service.name: _exported_service(service, directory, for_members) for service in services}


def _exported_service(service: Service, directory: Directory, for_members: bool) -> dict[str, Any]:
    """The profile without what is as usual; credentials without their secrets."""
    profile = {name: value for name, value in profile_of(service).items() if value != USUAL[name]}
    credentials = sorted(directory.credentials_of(service=service.gcid), key=lambda item: (item.label, item.id))
    kept = [{"label": item.label or item.id, "kind": item.kind.value, "kept": True} for item in credentials]
    owned = exported_assets(service, directory) | exported_rules(service, directory)
    owned |= exported_bindings(service, directory, for_members)
    owned |= exported_cookies(service, directory) if for_members else {}
    return {"gcid": service.gcid, **profile, "credentials": kept, **owned}


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ("", None)}


def limits_entry(limits: OrganizationLimits) -> dict[str, int]:
    """An organization's limits as people write them, without those that are the network's."""
    return {to_camel(name): value for name, value in msgspec.to_builtins(limits).items() if value}


class NotificationSection:
    name = SECTION

    def list_wanted(
        self, organization: str, entry: OrganizationEntry, place: str, planning: PlanningContext
    ) -> list[WantedObject]:
        return wanted_subscriptions(organization, entry.notifications, place, planning)

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        return prunable_subscriptions(organization, entry.notifications, directory)

    def export(self, organization: str, directory: Directory, *, for_members: bool) -> dict[str, Any]:
        return exported_subscriptions(organization, directory)


SECTIONS: tuple[DocumentSection, ...] = (People(), Services(), NotificationSection())


def export_document(
    directory: Directory, organizations: list[str], *, for_members: bool = False, billing: bool = False
) -> dict[str, Any]:
    """Return the document that describes these organizations; applying it changes nothing.

    Written for their own members, it holds what no one else may read, operators included.
    """
    exported = {}
    for name in organizations:
        organization = directory.organization(name)
        if organization is None:
            continue
        entry: dict[str, Any] = {}
        if organization.description:
            entry["description"] = organization.description
        if organization.posts_per_s:
            entry["postsPerSecond"] = organization.posts_per_s
        if limits := limits_entry(organization.limits):
            entry["limits"] = limits
        for section in SECTIONS:
            written = section.export(name, directory, for_members=for_members)
            if written or section.name != SECTION:  # earlier documents have no such section
                entry[section.name] = written
        exported[organization.name] = entry
    prices = exported_billing(directory) if billing else {}
    operators = exported_subscriptions(OPERATORS, directory) if billing else {}
    document = {"postroad": 1, "organizations": exported}
    return document | ({"billing": prices} if prices else {}) | ({SECTION: operators} if operators else {})


def wanted_cookies(service: Service, wish: ServiceEntry, here: str, planning: PlanningContext) -> list[WantedObject]:
    """Plan the cookies of a service.

    Rule: only the service's own organization sees a cookie. So an export for anyone else omits cookies, a plan shows that
    one is new but not its content, and a document without cookies leaves them unchanged.
    """
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
