"""Changing the directory on somebody's behalf: decide, write down, answer.

Each kind of change is a pure decision beside this file (``administration_*.py``): from the directory as it is and the caller who
asks, to the changes, or a refusal. Kept rules: decisions are taken one at a time on the newest directory, so what they check
still holds when it is written; what a caller may not see is refused as if it did not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType

from postroad.core.configuration.document import Fault
from postroad.core.exchange.bound import Language
from postroad.core.identity import api_key
from postroad.core.mediation.as2_stations import partner_between, shared_names
from postroad.core.model import ids
from postroad.core.model.asset import AssetDraft
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Organization, Role, Service
from postroad.core.model.snapshot import STATIONS, Directory, object_key
from postroad.errors import Refused
from postroad.flow.configure import Change, to_its_end
from postroad.flow.network import Network
from postroad.flow.registration import OPEN_REGISTRATION, Registration
from postroad.flow.turns import Turns
from postroad.ports import Passwords, QueryEngine

AssetCheck = Callable[[AssetDraft], Awaitable[Sequence[Fault]]]  # everything that is wrong with an asset
Decision = Callable[[Directory], Sequence[Change]]
Judges = Mapping[Language, QueryEngine]  # who runs what decides about bindings
NO_JUDGES: Judges = MappingProxyType({})
ADDRESS = "address"
ABSENT_S = 0.01  # several times what it takes to find out that a message belongs to others; "not found" takes as long
NOTHING_HERE = "There is nothing of that name, or nothing that you may see; check the name, and who you are"


async def nothing_to_check(draft: AssetDraft) -> Sequence[Fault]:
    """For networks that run no services themselves."""
    return ()


class Administration:
    """Carries out decisions, and draws what they need: ids, keys, password hashes, the check of an asset."""

    def __init__(
        self,
        network: Network,
        passwords: Passwords,
        asset_faults: AssetCheck = nothing_to_check,
        judges: Judges = NO_JUDGES,
        open_support_requests: int = 0,
        registration: Registration = OPEN_REGISTRATION,
    ) -> None:
        self.network = network
        self.passwords = passwords
        self.asset_faults = asset_faults
        self.judges = judges
        self.open_support_requests = open_support_requests  # of one organization; 0: as many as it likes
        self.registration = registration
        self._one_at_a_time = asyncio.Lock()
        self._turns = Turns()

    @property
    def directory(self) -> Directory:
        return self.network.directory

    async def carry_out(self, by: str, decide: Decision, reason: str) -> Directory:
        """Decide on the newest directory and make the changes durable."""
        return await to_its_end(self._carried_out(by, decide, reason))

    async def _carried_out(self, by: str, decide: Decision, reason: str) -> Directory:
        async with self._one_at_a_time:
            changes = decide(self.directory)
            if not changes:
                return self.directory
            return await self.network.configuration.change(by, changes, reason)

    def new_id(self) -> str:
        return ids.gcid(self.network.randomness.bytes(8))

    def new_key(
        self, label: str, *, service: str = "", person: str = "", expires_at_us: int = 0
    ) -> tuple[str, Credential]:
        """A key's text, to be shown once, and the credential that is kept of it."""
        key = api_key.make(self.network.randomness.bytes(api_key.RANDOM_BYTES))
        credential = Credential(
            id=key.id,
            kind=CredentialKind.KEY,
            secret=key.hash,
            service=service,
            person=person,
            label=label,
            created_at_us=self.network.clock.now_us(),
            expires_at_us=expires_at_us,
        )
        return key.text, credential

    def turn(self, who: str) -> AbstractAsyncContextManager[None]:
        """For whoever has slow hashes computed: a few at a time for each, so that logins of others do not wait for them."""
        return self._turns.of(who.casefold())

    async def new_password(self, password: str, label: str, *, service: str = "", person: str = "") -> Credential:
        async with self.turn(service or person):
            secret = await self.passwords.hash(password)
        return Credential(
            id=self.new_id(),
            kind=CredentialKind.PASSWORD,
            secret=secret,
            service=service,
            person=person,
            label=label,
            created_at_us=self.network.clock.now_us(),
        )


class Contradictory(Refused):
    """Something that cannot be saved, with everything that is wrong with it."""

    def __init__(self, code: str, detail: str, faults: Sequence[Fault]) -> None:
        super().__init__(code, detail)
        self.faults = list(faults)


def not_found() -> Refused:
    return Refused("not-found", NOTHING_HERE)


def denied(what: str) -> Refused:
    return Refused("permission.denied", what)


def removing(item: object, seen_version: int | None = None) -> Change:
    kind, key = object_key(item)
    return Change(kind=kind, key=key, value=None, seen_version=seen_version)


def visible_organization(caller: Caller, directory: Directory, name: str) -> Organization:
    """The organization, when the caller belongs to it or is an operator."""
    organization = directory.organization(name)
    if organization is None or not (caller.operator or caller.organization.casefold() == name.casefold()):
        raise not_found()
    return organization


def organization_for(caller: Caller, directory: Directory, name: str, least: Role) -> Organization:
    """The organization, when the caller may act for it in that role."""
    organization = visible_organization(caller, directory, name)
    if not caller.has_role(organization.name, least):
        raise denied(f"Only a person with the role {least.value} in {organization.name} may do this")
    return organization


def visible_service(caller: Caller, directory: Directory, name: str) -> Service:
    """The service, when the caller may know that it exists."""
    service = directory.service(name)
    if service is None or not (caller.operator or directory.visible(service, caller.organization)):
        raise not_found()
    return service


def service_for(caller: Caller, directory: Directory, name: str, least: Role) -> Service:
    """The service, when the caller may act for its organization in that role."""
    service = visible_service(caller, directory, name)
    if not caller.has_role(service.organization, least):
        raise denied(f"Only a person with the role {least.value} in the service's organization may do this")
    return service


def address_claims(before: Service | None, after: Service | None, directory: Directory) -> list[Change]:
    """Leave the old names and take the new ones: the address, and those of an AS2 agreement.

    Services are saved by GCID, so two nodes could give one address to two services at the same moment. Taking a name is
    therefore a change of an object of its own, and the second of two such changes collides with the first.
    """
    old, new = _claimed(before), _claimed(after)
    left = [Change(kind=kind, key=key, value=None) for kind, key in old if (kind, key) not in new]
    shared = _shared_claims(before, after, directory)
    if after is None:
        return left + shared
    taken = [name for name in new if name not in old]
    return left + [Change(kind=kind, key=key, value={"service": after.gcid}) for kind, key in taken] + shared


def _claimed(service: Service | None) -> list[tuple[str, str]]:
    """The names that no other service of the organization may have, each as kind and key."""
    if service is None:
        return []
    house = service.organization.casefold()
    stations = [(STATIONS, "\n".join((house, *service.as2.stations)))] if service.as2 is not None else []
    return [(ADDRESS, service.address.casefold()), *stations]


def _shared_claims(before: Service | None, after: Service | None, directory: Directory) -> list[Change]:
    """Both AS2 names at the address that all organizations share: the first service has them, and others do without."""
    old, new = (shared_names(*one.as2.stations) if one and one.as2 else "" for one in (before, after))
    if old == new:
        return []
    changes = []
    if before is not None and old and _holder(directory, old) == before.gcid:
        changes.append(Change(kind=STATIONS, key=old, value=None))
    if after is not None and new and not _holder(directory, new):
        changes.append(Change(kind=STATIONS, key=new, value={"service": after.gcid}))
    return changes


def _holder(directory: Directory, names: str) -> str:
    """The GCID of the service that has the names at the shared address; empty when none has."""
    partner, _, own = names.partition("\n")
    found = partner_between(directory, partner, own)
    return found.gcid if found is not None else ""
