"""Changes of the directory on behalf of a caller: check permission, decide, store and answer.

Each kind of change is a pure decision in a module of this package: it takes the current directory and the caller, and
returns the changes or a refusal. Rules: decisions are made one at a time on the newest directory, so what they check
still holds when they are written. An object that the caller may not see is refused as if it did not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType

from postroad.core.configuration.document import DocumentError
from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.identity import api_key
from postroad.core.mediation.as2_partnerships import partner_between, shared_names_key
from postroad.core.model import ids
from postroad.core.model.asset import AssetDraft
from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import AS2_IDENTITIES, object_key
from postroad.core.model.directory import Credential, CredentialKind, Organization, Role, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.registration import OPEN_REGISTRATION, RegistrationPolicy
from postroad.flow.concurrency.commit import run_to_completion
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore, WindowLimit
from postroad.flow.network import Network
from postroad.flow.registries.configuration import DirectoryChange
from postroad.ports import Clock, Passwords, QueryEngine

AssetCheck = Callable[[AssetDraft], Awaitable[Sequence[DocumentError]]]  # everything that is wrong with an asset
Decision = Callable[[Directory], Sequence[DirectoryChange]]
Judges = Mapping[DeciderLanguage, QueryEngine]  # who runs what decides about bindings
NO_JUDGES: Judges = MappingProxyType({})
ADDRESS = "address"
HOUR_S = 3_600.0
NOTIFICATION_TESTS = 10
ABSENT_S = 0.01  # several times what it takes to find out that a message belongs to others; "not found" takes as long
NOTHING_HERE = "Not found, or not visible to you; check the name and your credentials"


class MailLimits:
    """Limits the e-mails that people can cause."""

    def __init__(self, clock: Clock) -> None:
        self.to_address = WindowLimit(clock, 3, HOUR_S)
        self.from_peer = WindowLimit(clock, 10, HOUR_S)
        self.of_organization = WindowLimit(clock, 100, 24 * HOUR_S)


async def skip_asset_check(draft: AssetDraft) -> Sequence[DocumentError]:
    """Find no errors; for networks that run no hosted services."""
    return ()


class Administration:
    """Carries out changes, and creates the ids, keys and password hashes they need."""

    def __init__(
        self,
        network: Network,
        passwords: Passwords,
        asset_faults: AssetCheck = skip_asset_check,
        judges: Judges = NO_JUDGES,
        open_support_requests: int = 0,
        registration: RegistrationPolicy = OPEN_REGISTRATION,
    ) -> None:
        self.network = network
        self.passwords = passwords
        self.asset_faults = asset_faults
        self.judges = judges
        self.open_support_requests = open_support_requests  # of one organization; 0: as many as it likes
        self.registration = registration
        self.notification_tests = WindowLimit(network.clock, NOTIFICATION_TESTS, HOUR_S)  # of an organization
        self.mail_limits = MailLimits(network.clock)
        self._one_at_a_time = asyncio.Lock()
        self._hashing = KeyedSemaphore()

    @property
    def directory(self) -> Directory:
        return self.network.directory

    async def carry_out(self, by: str, decide: Decision, reason: str) -> Directory:
        """Decide on the newest directory and store the changes."""
        return await run_to_completion(self._carried_out(by, decide, reason))

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
        """Return a new key's text, which is shown once, and the credential that is stored."""
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

    def hashing_slot(self, owner: str) -> AbstractAsyncContextManager[None]:
        """Limit concurrent password hashing per owner, so that other logins do not wait."""
        return self._hashing.slot(owner.casefold())

    async def new_password(self, password: str, label: str, *, service: str = "", person: str = "") -> Credential:
        async with self.hashing_slot(service or person):
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


class InvalidChange(Refused):
    """A refused change, with everything that is wrong with it."""

    def __init__(self, code: str, detail: str, faults: Sequence[DocumentError]) -> None:
        super().__init__(code, detail)
        self.faults = list(faults)


def not_found() -> Refused:
    return Refused("not-found", NOTHING_HERE)


def permission_denied(what: str) -> Refused:
    return Refused("permission.denied", what)


def build_removal(item: object, seen_version: int | None = None) -> DirectoryChange:
    kind, key = object_key(item)
    return DirectoryChange(kind=kind, key=key, value=None, seen_version=seen_version)


def find_visible_organization(caller: Caller, directory: Directory, name: str) -> Organization:
    """Return the organization if the caller belongs to it or is an operator; raises Refused otherwise."""
    organization = directory.organization(name)
    if organization is None or not caller.can_view(name):
        raise not_found()
    return organization


def require_organization(caller: Caller, directory: Directory, name: str, least: Role) -> Organization:
    """Return the organization if the caller has that role in it; raises Refused otherwise."""
    organization = find_visible_organization(caller, directory, name)
    if not caller.has_role(organization.name, least):
        raise permission_denied(f"Only a person with the role {least.value} in {organization.name} may do this")
    return organization


def find_visible_service(caller: Caller, directory: Directory, name: str) -> Service:
    """Return the service if the caller may know of it; raises Refused otherwise."""
    service = directory.service(name)
    if service is None or not can_know(caller, service, directory):
        raise not_found()
    return service


def can_know(caller: Caller, service: Service, directory: Directory) -> bool:
    """Whether the caller may know that the service exists."""
    return caller.operator or directory.visible(service, caller.organization)


def describe_service(caller: Caller, gcid: str, directory: Directory) -> str:
    """Return a service's address, or its GCID if the caller may not know of it."""
    service = directory.services.get(gcid)
    return service.address if service is not None and can_know(caller, service, directory) else gcid


def require_service(caller: Caller, directory: Directory, name: str, least: Role) -> Service:
    """Return the service if the caller has that role in its organization; raises Refused otherwise."""
    service = find_visible_service(caller, directory, name)
    if not caller.has_role(service.organization, least):
        raise permission_denied(f"Only a person with the role {least.value} in the service's organization may do this")
    return service


def build_address_claims(before: Service | None, after: Service | None, directory: Directory) -> list[DirectoryChange]:
    """Return the changes that release the service's old names and claim its new ones: address and AS2 names.

    Services are saved by GCID, so two nodes could give one address to two services at the same moment. Taking a name is
    therefore a change of an object of its own, and the second of two such changes collides with the first.
    """
    old, new = _claimed(before), _claimed(after)
    left = [DirectoryChange(kind=kind, key=key, value=None) for kind, key in old if (kind, key) not in new]
    shared = _shared_claims(before, after, directory)
    if after is None:
        return left + shared
    taken = [name for name in new if name not in old]
    return left + [DirectoryChange(kind=kind, key=key, value={"service": after.gcid}) for kind, key in taken] + shared


def _claimed(service: Service | None) -> list[tuple[str, str]]:
    """Return the names that must be unique in the organization, each as kind and key."""
    if service is None:
        return []
    identities = (
        [(AS2_IDENTITIES, "\n".join((service.organization.casefold(), *service.as2.identity_names)))]
        if service.as2 is not None
        else []
    )
    return [(ADDRESS, service.address.casefold()), *identities]


def _shared_claims(before: Service | None, after: Service | None, directory: Directory) -> list[DirectoryChange]:
    """Return the changes that claim AS2 names at the shared address; the first service has them."""
    old, new = (shared_names_key(*one.as2.identity_names) if one and one.as2 else "" for one in (before, after))
    if old == new:
        return []
    changes = []
    if before is not None and old and _holder(directory, old) == before.gcid:
        changes.append(DirectoryChange(kind=AS2_IDENTITIES, key=old, value=None))
    if after is not None and new and not _holder(directory, new):
        changes.append(DirectoryChange(kind=AS2_IDENTITIES, key=new, value={"service": after.gcid}))
    return changes


def _holder(directory: Directory, names: str) -> str:
    """Return the GCID of the service that holds the names at the shared address; '' if there is none."""
    partner, _, own = names.partition("\n")
    found = partner_between(directory, partner, own)
    return found.gcid if found is not None else ""
