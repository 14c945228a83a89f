"""The directory at one moment: an immutable snapshot of all configuration objects.

A change makes a new snapshot that shares what did not change. ``version`` is the number of the journal entry that made it, and is
recorded with every message. Names are compared without regard to case; GCIDs and addresses name services alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rpds import HashTrieMap

from postroad.core.model.asset import Asset, AssetKind, Hosting, asset_key
from postroad.core.model.billing import BOOKS_KEY, BillingSettings, Tariff
from postroad.core.model.configuration_objects import BILLING, KINDS, LARGE_KINDS, object_key, stored_object
from postroad.core.model.directory import (
    As2IdentityClaim,
    Credential,
    Organization,
    Person,
    Service,
    Visibility,
    is_same_organization,
)
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.journal import ObjectChange
from postroad.core.model.level import LEVEL_KIND, NEWEST, read_level
from postroad.core.model.model_tree import ModelAttachment
from postroad.core.model.owned_objects import Owned
from postroad.core.model.restore import Restore
from postroad.core.model.rule import Rule
from postroad.core.model.secret_entries import SECRET, SecretRecord, secret_key
from postroad.core.model.trust import Provisioning, RegisteredCookie, cookie_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    version: int = 0
    level: int = (
        NEWEST  # see core/model/level.py; a stored network without the object is at level 1, which its opener sets
    )
    organizations: Mapping[str, Organization] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
    services: Mapping[str, Service] = field(default_factory=dict)  # by GCID
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    assets: Mapping[str, Asset] = field(default_factory=dict)
    provisionings: Mapping[str, Provisioning] = field(default_factory=dict)  # by the enterprise's GCID
    cookies: Mapping[str, RegisteredCookie] = field(default_factory=dict)
    as2_identities: Mapping[str, As2IdentityClaim] = field(default_factory=dict)
    restores: Mapping[str, Restore] = field(default_factory=dict)
    restored_seq: int = 0  # entry of the last restore from a backup; 0: there was none
    billing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # tariffs, invoices, payments …; by kind
    # Bindings, the parts of models, support requests, subscriptions; by kind.
    exchanging: Mapping[str, Owned] = field(default_factory=dict)
    versions: HashTrieMap[tuple[str, str], int] = field(default_factory=HashTrieMap)  # removed objects keep theirs
    _by_address: Mapping[str, Service] = field(default_factory=dict)
    cache: dict[Any, Any] = field(default_factory=dict, compare=False)  # derived values; keys begin with a subject

    def service(self, name: str) -> Service | None:
        """Return the service with this GCID or address, or None."""
        return self.services.get(name) or self._by_address.get(name.casefold())

    def address_of(self, gcid: str) -> str:
        """Return the address of a service; its GCID if the service no longer exists."""
        service = self.services.get(gcid)
        return service.address if service is not None else gcid

    def address_named(self, name: str) -> str:
        """Return the address of the service with this GCID or address; an unknown name is returned unchanged."""
        service = self.service(name)
        return service.address if service is not None else name

    def owner_of(self, gcid: str) -> str:
        """Return the organization of a service, for comparison; empty if the service no longer exists."""
        service = self.services.get(gcid)
        return service.organization.casefold() if service is not None else ""

    def organization(self, name: str) -> Organization | None:
        return self.organizations.get(name.casefold())

    def person(self, email: str) -> Person | None:
        return self.people.get(email.casefold())

    def object(self, kind: str, key: str) -> Any | None:
        return self._table(kind).get(key)

    def object_version(self, kind: str, key: str) -> int:
        return self.versions.get((kind, key), 0)

    def visible(self, service: Service, organization: str) -> bool:
        """Whether an organization may know that the service exists."""
        return service.visibility is Visibility.PUBLIC or is_same_organization(service.organization, organization)

    def is_suspended(self, service: Service) -> bool:
        """Whether an operator has suspended the service or its organization, by its current profile."""
        organization = self.organization(service.organization)
        now = self.services.get(service.gcid, service)
        return bool(now.suspended or (organization is not None and organization.suspended))

    def services_of(self, organization: str) -> list[Service]:
        return [item for item in self.services.values() if is_same_organization(item.organization, organization)]

    def people_of(self, organization: str) -> list[Person]:
        return [item for item in self.people.values() if is_same_organization(item.organization, organization)]

    def credentials_of(self, *, service: str = "", person: str = "") -> list[Credential]:
        """Return the credentials of one service or one person."""
        owners = self.cache.get("credentials")
        if owners is None:
            owners = self.cache["credentials"] = {}
            for item in self.credentials.values():
                owners.setdefault(item.service or item.person.casefold(), []).append(item)
        return list(owners.get(service or person.casefold(), []))

    def credentials_of_secret(self, secret: str) -> list[Credential]:
        """Return the credentials with this hash or fingerprint, for proofs that contain no id (certificates)."""
        by_secret = self.cache.get("secrets")
        if by_secret is None:
            by_secret = self.cache["secrets"] = {}
            for item in self.credentials.values():
                by_secret.setdefault(item.secret, []).append(item)
        return list(by_secret.get(secret, []))

    def rules_of(self, service: str) -> tuple[Rule, ...]:
        """Return the rules of one service in their order, including disabled ones."""
        found: tuple[Rule, ...] = self._owned("rules", self.rules).get(service, ())
        return found

    def assets_of(self, service: str) -> tuple[Asset, ...]:
        """Return the assets of one service, sorted by kind and name."""
        found: tuple[Asset, ...] = self._owned("assets", self.assets).get(service, ())
        return found

    def asset(self, service: str, kind: AssetKind, name: str) -> Asset | None:
        return self.assets.get(asset_key(service, kind, name))

    def is_provisioned(self, service: str, provider: str) -> bool:
        """Whether the provider has confirmed this service of an enterprise, and neither has revoked it."""
        found = self.provisionings.get(service)
        return found is not None and found.is_active and found.provider == provider

    def trust_of(self, service: str) -> list[Provisioning | RegisteredCookie]:
        """Return the provisionings and cookies that refer to the service."""
        found: list[Provisioning | RegisteredCookie] = []
        found += [one for one in self.provisionings.values() if service in (one.service, one.provider)]
        found += [one for one in self.cookies.values() if service in (one.service, one.sender)]
        return found

    def cookies_of(self, service: str) -> list[RegisteredCookie]:
        """Return the cookies that the service has registered, sorted by sender."""
        return list(self._owned("cookies", self.cookies).get(service, ()))

    def trusts(self, recipient: Service, sender: Service) -> bool:
        """Whether a provisioning allows this sender to send to that recipient.

        A provider trusts the service that it confirmed; the enterprise trusts its provider, for all of its services.
        """
        if not self.provisionings:
            return False
        return self.is_provisioned(sender.gcid, recipient.gcid) or (
            recipient.organization.casefold() in self._enterprises_of().get(sender.gcid, ())
        )

    def cookie_for(self, recipient: str, sender: str) -> RegisteredCookie | None:
        """Return the recipient's cookie for this sender, or for the only account of the sender's enterprise there."""
        if not self.cookies:
            return None
        found = self.cookies.get(cookie_key(recipient, sender))
        service = self.services.get(sender)
        if found is not None or service is None or sender in self.provisionings:
            return found
        accounts = self._accounts().get((recipient, service.organization.casefold()), ())
        return self.cookies.get(cookie_key(recipient, accounts[0])) if len(accounts) == 1 else None

    def _enterprises_of(self) -> dict[str, set[str]]:
        """Return the organizations that trust each provider."""
        found: dict[str, set[str]] | None = self.cache.get("enterprises")
        if found is None:
            found = self.cache["enterprises"] = {}
            for provider, organization in self._accounts():
                found.setdefault(provider, set()).add(organization)
        return found

    def _accounts(self) -> dict[tuple[str, str], list[str]]:
        """Return the services that represent each organization's accounts at each provider."""
        found: dict[tuple[str, str], list[str]] | None = self.cache.get("accounts")
        if found is None:
            found = self.cache["accounts"] = {}
            for item in self.provisionings.values():
                service = self.services.get(item.service)
                if item.is_active and service is not None:
                    found.setdefault((item.provider, service.organization.casefold()), []).append(item.service)
        return found

    @property
    def books(self) -> BillingSettings:
        found: BillingSettings = self._table("books").get(BOOKS_KEY, BillingSettings())
        return found

    @property
    def tariffs(self) -> tuple[Tariff, ...]:
        """Return all versions of all tariffs."""
        return tuple(self._table("tariff").values())

    @property
    def bindings(self) -> Owned:
        return self.exchanging.get("binding", _EMPTY)

    def binding(self, exchange: str, name: str) -> Binding | None:
        found: Binding | None = self.bindings.get(binding_key(exchange, name))
        return found

    def bindings_of(self, exchange: str) -> list[Binding]:
        """Return the bindings of one exchange, sorted by name."""
        return sorted(self.bindings.of(exchange).values(), key=lambda binding: binding.name.casefold())

    @property
    def support(self) -> Owned:
        """Return the support requests, by organization."""
        return self.exchanging.get("support", _EMPTY)

    @property
    def secrets(self) -> Owned:
        """Return the records of stored secrets, by organization."""
        return self.exchanging.get(SECRET, _EMPTY)

    def secret(self, organization: str, service: str, name: str) -> SecretRecord | None:
        """Return the record of a secret of exactly this scope; ``service`` is a GCID, or empty for the organization's."""
        found: SecretRecord | None = self.secrets.of(organization.casefold()).get(
            secret_key(organization, service, name)
        )
        return found

    @property
    def subscriptions(self) -> Owned:
        """Return the subscriptions to notifications, by organization; the operators' have the organization ''."""
        return self.exchanging.get("subscription", _EMPTY)

    def parts_of(self, service: str, kind: str) -> Mapping[str, Any]:
        """Return the nodes, attachments or topics of a model by key, in no order; there may be a million."""
        return self.exchanging.get(kind, _EMPTY).of(service)

    def attachments_to(self, services: Collection[str]) -> list[ModelAttachment]:
        """Return the attachments of these services in models of other owners; scans all attachments."""
        attached = self.exchanging.get("attachment", _EMPTY)
        models = [one for one, found in self.services.items() if found.hosted is Hosting.MODEL and one not in services]
        return [one for model in models for one in attached.of(model).values() if one.attached in services]

    def _owned(self, name: str, table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        """Return rules, assets or cookies by service; sorted at first use, and partly reused by ``apply_changes``."""
        owned: dict[str, tuple[Any, ...]] | None = self.cache.get(name)
        if owned is None:
            by_service: dict[str, list[Any]] = {}
            for item in table.values():
                by_service.setdefault(item.service, []).append(item)
            owned = {service: tuple(sorted(items, key=_order)) for service, items in by_service.items()}
            self.cache[name] = owned
        return owned

    def apply_changes(self, changes: Iterable[ObjectChange], version: int) -> Directory:
        """Return the snapshot after these changes; small tables are copied, large ones are shared."""
        changes = list(changes)
        versions, exchanging = self.versions, dict(self.exchanging)
        tables: dict[str, dict[str, Any]] = {}
        level = self.level
        for change in changes:
            versions = versions.insert((change.kind, change.key), change.version)
            if change.kind == LEVEL_KIND:
                level = read_level(change.value).level
            elif change.kind in LARGE_KINDS:
                exchanging[change.kind] = _after(exchanging.get(change.kind, _EMPTY), change)
            elif change.kind in KINDS:  # other kinds are kept elsewhere
                if change.kind not in tables:
                    tables[change.kind] = dict(self._table(change.kind))
                _put(tables[change.kind], change)
            if change.kind == "service" and change.value is None:  # its large kinds are removed without entries
                exchanging = {kind: table.without(change.key) for kind, table in exchanging.items()}
        if not tables:
            return replace(self, version=version, level=level, exchanging=exchanging, versions=versions)
        others = {"version": version, "level": level, "exchanging": exchanging, "versions": versions}
        return self._with(tables, changes, **others)

    def _with(self, tables: Mapping[str, Mapping[str, Any]], changes: list[ObjectChange], **others: Any) -> Directory:
        """Return the snapshot with these tables replaced."""
        services = tables.get("service")
        by_address = self._by_address if services is None else _by_address(services.values())
        billing = {kind: tables.get(kind, self._table(kind)) for kind in BILLING}
        named: dict[str, Any] = {name: tables[kind] for kind, name in _TABLES.items() if kind in tables}
        if "restore" in tables:
            named["restored_seq"] = max((restore.seq for restore in tables["restore"].values()), default=0)
        cache = self._handed_on(changes, tables)
        return replace(self, **named, billing=billing, _by_address=by_address, cache=cache, **others)

    def _handed_on(self, changes: list[ObjectChange], tables: Mapping[str, Mapping[str, Any]]) -> dict[Any, Any]:
        """Return the cached indexes of rules and assets that stay valid in the next snapshot."""
        cache: dict[Any, Any] = {}
        for name, kind in (("rules", "rule"), ("assets", "asset")):
            if name in self.cache:
                keys = [change.key for change in changes if change.kind == kind]
                cache[name] = _owned_after(self.cache[name], keys, tables.get(kind, {}))
        return cache

    def _table(self, kind: str) -> Mapping[str, Any]:
        if kind in _TABLES:
            table: Mapping[str, Any] = getattr(self, _TABLES[kind])
            return table
        return self.exchanging.get(kind, _EMPTY) if kind in LARGE_KINDS else self.billing.get(kind, {})


_EMPTY = Owned()
_TABLES = {
    "organization": "organizations",
    "person": "people",
    "service": "services",
    "credential": "credentials",
    "rule": "rules",
    "asset": "assets",
    "provisioning": "provisionings",
    "cookie": "cookies",
    "as2-stations": "as2_identities",
    "restore": "restores",
}


def _put(table: dict[str, Any], change: ObjectChange) -> None:
    if change.value is None:
        table.pop(change.key, None)
    else:
        table[change.key] = stored_object(change.kind, change.value)


def _after(table: Owned, change: ObjectChange) -> Owned:
    if change.value is None:
        return table.without_item(change.key)
    return table.with_item(change.key, stored_object(change.kind, change.value))


def _by_address(services: Iterable[Service]) -> dict[str, Service]:
    return {item.address.casefold(): item for item in services}


def _order(item: Rule | Asset | RegisteredCookie) -> tuple[int, str, str]:
    match item:
        case Rule():
            return item.place, "", item.name
        case Asset():
            return 0, item.kind.value, item.name
    return 0, "", item.sender


def _owned_after(
    owned: dict[str, tuple[Any, ...]], keys: Iterable[str], table: Mapping[str, Any]
) -> dict[str, tuple[Any, ...]]:
    """Return items by owner after those with these keys have changed; only their owners' items are sorted again."""
    changed: dict[str, set[str]] = {}
    for key in keys:
        changed.setdefault(key.partition("/")[0], set()).add(key)
    fresh = dict(owned) if changed else owned
    for service, its_keys in changed.items():
        others = [item for item in owned.get(service, ()) if object_key(item)[1] not in its_keys]
        items = [*others, *(table[key] for key in its_keys if key in table)]
        fresh[service] = tuple(sorted(items, key=_order))
    return fresh
