"""Configuration as code: export what is, plan what a document would change, and apply exactly that, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from postroad.core.configuration.bindings import binding_of
from postroad.core.configuration.document import (
    CredentialEntry,
    Fault,
    NetworkDocument,
    OrganizationEntry,
    pointer,
    read_document,
)
from postroad.core.configuration.owned_bindings import binding_places
from postroad.core.configuration.plan import plan
from postroad.core.configuration.sections import export
from postroad.core.configuration.steps import Plan
from postroad.core.exchange.bound import decider_of
from postroad.core.identity import api_key
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import CredentialKind, Organization, Person, Role
from postroad.core.model.exchange import Binding
from postroad.core.model.snapshot import Directory, object_key
from postroad.errors import Refused
from postroad.flow.administration import Administration, Contradictory, address_claims, denied, removing
from postroad.flow.administration_assets import located
from postroad.flow.administration_bindings import compiled
from postroad.flow.administration_drafts import asset_drafts
from postroad.flow.binding_book import BindingBook
from postroad.flow.configure import Change, saving

PASSWORDS_MOST = 200  # each costs a slow hash


class WorkedOut(NamedTuple):
    """What planning must know and cannot work out itself, by pointer."""

    secrets: dict[str, str]
    asset_faults: dict[str, list[Fault]]
    binding_faults: dict[str, list[Fault]]


def exported(caller: Caller, directory: Directory) -> dict[str, Any]:
    """The configuration of the caller's organization; of all, for an operator. Never a secret."""
    if caller.person is None:
        raise denied("The configuration is read by people, not by services")
    if caller.operator:
        own = {
            service.organization for service in directory.services.values() if service.hosted is Hosting.PROVISIONING
        }
        names = {item.name for item in directory.organizations.values()} - own  # which the network makes itself
        return export(directory, sorted(names), billing=True)
    return export(directory, [caller.organization], for_members=True)


async def planned(administration: Administration, caller: Caller, content: dict[str, Any], *, prune: bool) -> Plan:
    """What the document would change; raises Contradictory with every fault."""
    document = _readable(caller, administration.directory, content)
    known = await _worked_out(administration, caller, document)
    return _plan(administration, caller, document, administration.directory, known, prune=prune)


async def apply(
    administration: Administration, caller: Caller, content: dict[str, Any], *, prune: bool, version: str
) -> Plan:
    """Carry the plan out, in one entry, if it is still the one that ``version`` names."""
    document = _readable(caller, administration.directory, content)
    known = await _worked_out(administration, caller, document)
    carried_out = Plan()

    def decide(directory: Directory) -> list[Change]:
        nonlocal carried_out
        carried_out = _plan(administration, caller, document, directory, known, prune=prune)
        if carried_out.version != version:
            raise Refused("version.conflict", "What this plan touches has changed since; plan again, look, and apply")
        return _changes(carried_out, administration, directory)

    await administration.carry_out(caller.name, decide, "configuration applied")
    return carried_out


def _changes(carried_out: Plan, administration: Administration, directory: Directory) -> list[Change]:
    changes = []
    for step in carried_out.steps:
        changes.append(Change(kind=step.kind, key=step.key, value=step.value, seen_version=step.seen_version))
        if step.kind == "service":
            changes += address_claims(directory.services.get(step.key), step.value)
    changes += _owners_leave(carried_out, directory)
    return changes + _forgotten(carried_out, administration.network.bindings, directory)


def _owners_leave(carried_out: Plan, directory: Directory) -> list[Change]:
    """Save each organization that loses an owner, as everything does that takes one away: two that do it at once collide."""
    planned = {step.key for step in carried_out.steps if step.kind == "organization"}
    leaving = [
        step for step in carried_out.steps if step.kind == "person" and _is_owner(directory.people.get(step.key))
    ]
    left = {directory.people[step.key].organization.casefold() for step in leaving if not _is_owner(step.value)}
    return [saving(directory.organizations[house]) for house in sorted(left - planned)]


def _is_owner(person: Person | None) -> bool:
    return person is not None and person.role is Role.OWNER


def _forgotten(carried_out: Plan, bindings: BindingBook, directory: Directory) -> list[Change]:
    """Provisionings, cookies, bindings and attachments that go with a service; some are other organizations' own."""
    gone = [step.key for step in carried_out.steps if step.kind == "service" and step.value is None]
    going: list[Any] = [item for gcid in gone for item in (*directory.trust_of(gcid), *bindings.concerning(gcid))]
    going += directory.attachments_to(set(gone)) if gone else []
    planned = {(step.kind, step.key) for step in carried_out.steps}
    return [removing(item) for key, item in {object_key(item): item for item in going}.items() if key not in planned]


def _readable(caller: Caller, directory: Directory, content: dict[str, Any]) -> NetworkDocument:
    document = read_document(content)
    if isinstance(document, list):
        raise Contradictory("value.invalid", "The document does not have the form that is expected", document)
    if caller.operator:
        return document
    foreign = [name for name in document.organizations if name.casefold() != caller.organization.casefold()]
    if foreign or document.billing is not None or not caller.has_role(caller.organization, Role.OWNER):
        raise denied("Owners configure their own organization, and operators all; nobody else, and no other")
    current = directory.organization(caller.organization)
    faults = [
        Fault(pointer("organizations", name, field), "is set by the network's operators")
        for name, entry in document.organizations.items()
        for field in _operators_fields(entry, current)
    ]
    if faults:
        raise Contradictory("configuration.conflict", "The document cannot be applied", faults)
    return document


def _operators_fields(entry: OrganizationEntry, current: Organization | None) -> Iterator[str]:
    """What the entry would change of an organization that is not its owner's to change."""
    if current is None:
        return
    if entry.posts_per_s not in (None, current.posts_per_s):
        yield "postsPerSecond"
    if entry.limits is not None and entry.limits.limits() != current.limits:
        yield "limits"


def _plan(
    administration: Administration,
    caller: Caller,
    document: NetworkDocument,
    directory: Directory,
    known: WorkedOut,
    *,
    prune: bool,
) -> Plan:
    found = plan(
        document,
        directory,
        secrets=known.secrets,
        asset_faults=known.asset_faults,
        binding_faults=known.binding_faults,
        callables=administration.network.exchanges.callables,
        standards=administration.network.standards,
        fresh_ids=_fresh_ids(administration),
        now_us=administration.network.clock.now_us(),
        prune=prune,
        may_choose_ids=caller.operator,
    )
    if found.faults:
        raise Contradictory("configuration.conflict", "The document cannot be applied", list(found.faults))
    return found


def _fresh_ids(administration: Administration) -> Iterator[str]:
    while True:
        yield administration.new_id()


async def _worked_out(administration: Administration, caller: Caller, document: NetworkDocument) -> WorkedOut:
    async with administration.turn(caller.organization or caller.name):
        secrets = await _stored_secrets(administration, document)
    return WorkedOut(
        secrets,
        await _asset_faults(administration, document),
        await _binding_faults(administration, document),
    )


async def _asset_faults(administration: Administration, document: NetworkDocument) -> dict[str, list[Fault]]:
    """What is wrong with the document's assets, as far as it takes a compiler to find out; of those that are new."""
    found = {}
    for place, draft in asset_drafts(document, administration.directory):
        faults = await administration.asset_faults(draft)
        found[place] = [Fault(f"{place}/content", located(fault)) for fault in faults]
    return found


async def _binding_faults(administration: Administration, document: NetworkDocument) -> dict[str, list[Fault]]:
    """What is wrong with queries and scripts that come with bindings, as their engines find; of those that are new."""
    found: dict[str, list[Fault]] = {}
    directory, checked = administration.directory, dict[tuple[str, str], list[Fault]]()
    for place, address, name, entry in binding_places(document):
        exchange = directory.service(address)
        saved = directory.binding(exchange.gcid, name) if exchange else None
        said = (entry.query, entry.script)
        if not any(said) or (saved is not None and (saved.query, saved.script) == said):
            continue
        if said not in checked:
            checked[said] = await _program_faults(administration, binding_of(entry, "", name, ""))
        found[place] = [Fault(f"{place}/{'query' if entry.query else 'script'}", one.detail) for one in checked[said]]
    return found


async def _program_faults(administration: Administration, binding: Binding) -> list[Fault]:
    try:
        await compiled(binding, decider_of(binding, administration.directory), administration.judges)
    except Refused as refusal:
        return [Fault("", refusal.detail)]
    return []


async def _stored_secrets(administration: Administration, document: NetworkDocument) -> dict[str, str]:
    """What is kept of each secret in the document: what is kept already, where it is the same secret."""
    secrets: dict[str, str] = {}
    passwords = 0
    for place, address, entry in _credential_entries(document):
        if entry.password is not None:
            passwords += 1
            if passwords > PASSWORDS_MOST:
                raise Refused(
                    "value.invalid", f"At most {PASSWORDS_MOST} passwords a document; use keys", pointer=place
                )
            secrets[place] = await _password_hash(administration, address, entry.label, entry.password)
        elif entry.key is not None and api_key.key_id(entry.key) is not None:
            secrets[place] = sha256(entry.key.encode()).hexdigest()
    return secrets


async def _password_hash(administration: Administration, address: str, label: str, password: str) -> str:
    service = administration.directory.service(address)
    for item in administration.directory.credentials_of(service=service.gcid) if service else []:
        same_label = item.kind is CredentialKind.PASSWORD and (item.label or item.id) == label
        if same_label and await administration.passwords.verify(password, item.secret):
            return item.secret
    return await administration.passwords.hash(password)


def _credential_entries(document: NetworkDocument) -> Iterator[tuple[str, str, CredentialEntry]]:
    for house, organization in document.organizations.items():
        for name, service in organization.services.items():
            for number, entry in enumerate(service.credentials or ()):
                place = pointer("organizations", house, "services", name, "credentials", number)
                yield place, f"{house}/{name}", entry
