"""Configuration as code: export, plan and apply a configuration document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from postroad.core.configuration.change_plan import ConfigurationPlan
from postroad.core.configuration.document import (
    CredentialEntry,
    DocumentError,
    NetworkDocument,
    OrganizationEntry,
    pointer,
    read_document,
)
from postroad.core.configuration.entries.bindings import binding_of
from postroad.core.configuration.key_possession import KeyPossessionProof, has_private_key
from postroad.core.configuration.planner import make_plan
from postroad.core.configuration.sections.bindings import BindingPlace, binding_places
from postroad.core.configuration.sections.organization import export_document
from postroad.core.exchange.exchange import decider_of
from postroad.core.identity import api_key
from postroad.core.model.asset import AssetDraft, Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import AS2_IDENTITIES, object_key
from postroad.core.model.directory import CredentialKind, Organization, Person, Role, is_same_organization
from postroad.core.model.exchange import Binding
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused, Unavailable
from postroad.flow.administration.asset_drafts import list_asset_drafts
from postroad.flow.administration.assets import describe_fault
from postroad.flow.administration.base import (
    Administration,
    InvalidChange,
    build_address_claims,
    build_removal,
    permission_denied,
)
from postroad.flow.administration.bindings import check_program
from postroad.flow.administration.confirmations import find_owner_errors
from postroad.flow.administration.secrets import remove_secrets_of
from postroad.flow.administration.services import find_new_push_errors
from postroad.flow.concurrency.commit import run_to_completion
from postroad.flow.registries.bindings import BindingRegistry
from postroad.flow.registries.configuration import DirectoryChange, build_save

MAX_PASSWORDS = 200  # each costs a slow hash
PLANNED_AGAIN = 5  # times, when others change the configuration meanwhile
MAX_PROOFS = 200  # signatures that are verified for one document


class PlanInputs(NamedTuple):
    """Results that planning needs but cannot compute, by JSON pointer."""

    secrets: dict[str, str]
    asset_faults: dict[str, list[DocumentError]]
    binding_faults: dict[str, list[DocumentError]]
    proven: frozenset[str] | None  # certificates whose keys the caller has; None for operators, who need no proof


def export_configuration(caller: Caller, directory: Directory) -> dict[str, Any]:
    """Return the configuration of the caller's organization, or of all for operators; never secrets."""
    if caller.person is None:
        raise permission_denied("The configuration is read by people, not by services")
    if caller.operator:
        own = {
            service.organization for service in directory.services.values() if service.hosted is Hosting.PROVISIONING
        }
        names = {item.name for item in directory.organizations.values()} - own  # which the network makes itself
        return export_document(directory, sorted(names), billing=True)
    return export_document(directory, [caller.organization], for_members=True)


async def plan_configuration(
    administration: Administration, caller: Caller, content: dict[str, Any], *, prune: bool
) -> ConfigurationPlan:
    """Return the plan for a document; raises InvalidChange with every error."""
    document, known = await _read_and_work_out(administration, caller, content)
    return await _plan_elsewhere(administration, caller, document, known, prune=prune)


async def apply(
    administration: Administration, caller: Caller, content: dict[str, Any], *, prune: bool, version: str
) -> ConfigurationPlan:
    """Apply the plan in one entry, if it is still the one that ``version`` names."""
    document, known = await _read_and_work_out(administration, caller, content)
    for _ in range(PLANNED_AGAIN):
        planned_on = administration.directory
        carried_out = await _plan_elsewhere(administration, caller, document, known, prune=prune)
        if carried_out.version != version:
            raise Refused("version.conflict", "Objects of this plan have changed; plan again, review, and apply")
        try:
            await run_to_completion(_carry_out(administration, caller.name, carried_out, planned_on))
        except _PlannedOnAnother:
            continue
        return carried_out
    raise Unavailable("network.unavailable", "The configuration of the network keeps changing; apply it again")


async def _carry_out(
    administration: Administration, by: str, carried_out: ConfigurationPlan, planned_on: Directory
) -> None:
    """Store the changes; the secrets of removed services are removed after them."""
    decide = partial(_changes, carried_out, administration, planned_on)
    await administration.carry_out(by, decide, "configuration applied")
    gone = [step.key for step in carried_out.steps if step.kind == "service" and step.value is None]
    await remove_secrets_of(administration, by, [planned_on.services[gcid] for gcid in gone])


class _PlannedOnAnother(Exception):
    """The directory has changed since the plan was made."""


class _Read(NamedTuple):
    """A document with its parts that need hashing or compiling, collected in a thread."""

    document: NetworkDocument
    credentials: list[tuple[str, str, CredentialEntry]]
    drafts: list[tuple[str, AssetDraft]]
    bindings: list[BindingPlace]
    proven: frozenset[str] | None


async def _read_and_work_out(
    administration: Administration, caller: Caller, content: dict[str, Any]
) -> tuple[NetworkDocument, PlanInputs]:
    directory = administration.directory

    def read() -> _Read:
        document = _readable(caller, directory, content)
        return _Read(
            document,
            list(_credential_entries(document)),
            list(list_asset_drafts(document, directory)),
            list(binding_places(document)),
            None if caller.operator else frozenset(_proven(administration, caller, document)),
        )

    found = await administration.network.heavy_requests.run(caller.organization or caller.name, read)
    return found.document, await _worked_out(administration, caller, found)


async def _plan_elsewhere(
    administration: Administration, caller: Caller, document: NetworkDocument, known: PlanInputs, *, prune: bool
) -> ConfigurationPlan:
    """Return the plan, computed in a thread on the current directory."""
    directory, fresh_ids = administration.directory, iter(administration.new_id, "")
    return await administration.network.heavy_requests.run(
        caller.organization or caller.name,
        lambda: _plan(administration, caller, document, directory, known, fresh_ids, prune=prune),
    )


def _changes(
    carried_out: ConfigurationPlan, administration: Administration, planned_on: Directory, directory: Directory
) -> list[DirectoryChange]:
    if directory is not planned_on:
        raise _PlannedOnAnother
    changes = []
    for step in carried_out.steps:
        changes.append(DirectoryChange(kind=step.kind, key=step.key, value=step.value, seen_version=step.seen_version))
        if step.kind == "service":
            changes += build_address_claims(directory.services.get(step.key), step.value, directory)
    changes = _claimed_once(changes)
    changes += _owners_leave(carried_out, directory)
    return changes + _forgotten(carried_out, administration.network.bindings, directory)


def _claimed_once(changes: list[DirectoryChange]) -> list[DirectoryChange]:
    """Return the changes without repeated claims of the same pair of AS2 names."""
    seen: set[str] = set()
    kept = []
    for change in changes:
        is_taken = change.kind == AS2_IDENTITIES and change.value is not None and change.key in seen
        if change.kind == AS2_IDENTITIES and change.value is not None:
            seen.add(change.key)
        kept += [] if is_taken else [change]
    return kept


def _owners_leave(carried_out: ConfigurationPlan, directory: Directory) -> list[DirectoryChange]:
    """Return changes that save each organization that loses an owner, so that concurrent removals conflict."""
    planned = {step.key for step in carried_out.steps if step.kind == "organization"}
    leaving = [
        step for step in carried_out.steps if step.kind == "person" and _is_owner(directory.people.get(step.key))
    ]
    left = {directory.people[step.key].organization.casefold() for step in leaving if not _is_owner(step.value)}
    return [build_save(directory.organizations[key]) for key in sorted(left - planned)]


def _is_owner(person: Person | None) -> bool:
    return person is not None and person.role is Role.OWNER


def _forgotten(
    carried_out: ConfigurationPlan, bindings: BindingRegistry, directory: Directory
) -> list[DirectoryChange]:
    """Return the provisionings, cookies, bindings and attachments that are removed with a service."""
    gone = [step.key for step in carried_out.steps if step.kind == "service" and step.value is None]
    going: list[Any] = [item for gcid in gone for item in (*directory.trust_of(gcid), *bindings.concerning(gcid))]
    going += directory.attachments_to(set(gone)) if gone else []
    planned = {(step.kind, step.key) for step in carried_out.steps}
    return [
        build_removal(item) for key, item in {object_key(item): item for item in going}.items() if key not in planned
    ]


def _readable(caller: Caller, directory: Directory, content: dict[str, Any]) -> NetworkDocument:
    document = read_document(content)
    if isinstance(document, list):
        raise InvalidChange("value.invalid", "The document does not have the expected form", document)
    if caller.operator:
        return document
    foreign = [name for name in document.organizations if not is_same_organization(name, caller.organization)]
    is_for_operators = document.billing is not None or document.notifications is not None
    if foreign or is_for_operators or not caller.has_role(caller.organization, Role.OWNER):
        raise permission_denied("Owners may configure only their own organization, and operators may configure all")
    current = directory.organization(caller.organization)
    faults = [
        DocumentError(pointer("organizations", name, field), "can only be set by the network's operators")
        for name, entry in document.organizations.items()
        for field in _operators_fields(entry, current)
    ]
    if faults:
        raise InvalidChange("configuration.conflict", "The document cannot be applied", faults)
    return document


def _operators_fields(entry: OrganizationEntry, current: Organization | None) -> Iterator[str]:
    """Yield the changed fields of an organization that only operators may change."""
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
    known: PlanInputs,
    fresh_ids: Iterator[str],
    *,
    prune: bool,
) -> ConfigurationPlan:
    found = make_plan(
        document,
        directory,
        secrets=known.secrets,
        asset_faults=known.asset_faults,
        binding_faults=known.binding_faults,
        callables=administration.network.exchanges.callables,
        standards=administration.network.standards,
        fresh_ids=fresh_ids,
        now_us=administration.network.clock.now_us(),
        prune=prune,
        may_choose_ids=caller.operator,
        proven=known.proven,
    )
    pushes = _push_faults(administration, found, directory)
    faults = [*found.faults, *find_owner_errors(caller, directory, found.steps)]
    faults += [fault for fault, is_error in pushes if is_error]
    if faults:
        raise InvalidChange("configuration.conflict", "The document cannot be applied", faults)
    return replace(found, warnings=tuple(fault for fault, _ in pushes))


def _push_faults(
    administration: Administration, found: ConfigurationPlan, directory: Directory
) -> list[tuple[DocumentError, bool]]:
    """Return problems of added or changed push settings, each with True if it is an error."""
    services = [step.value for step in found.steps if step.kind == "service" and step.value is not None]
    return [
        (DocumentError(pointer("organizations", one.organization, "services", one.name, *fault.field.split("/")), fault.detail),
         fault.is_error)
        for one in services
        for fault in find_new_push_errors(administration.network, directory.services.get(one.gcid), one)
    ]  # fmt: skip


async def _worked_out(administration: Administration, caller: Caller, found: _Read) -> PlanInputs:
    async with administration.hashing_slot(caller.organization or caller.name):
        secrets = await _stored_secrets(administration, found.credentials)
    return PlanInputs(
        secrets,
        await _asset_faults(administration, found.drafts),
        await _binding_faults(administration, found.bindings),
        found.proven,
    )


def _proven(administration: Administration, caller: Caller, document: NetworkDocument) -> Iterator[str]:
    """Yield the pointers of certificates that come with a signed challenge."""
    forms, now_us = administration.network.tokens.forms, administration.network.clock.now_us()
    signed = [
        (place, entry.certificate, KeyPossessionProof(entry.challenge, entry.signature))
        for place, _, entry in _credential_entries(document)
        if entry.certificate and entry.challenge and entry.signature
    ]
    for place, pem, given in signed[:MAX_PROOFS]:
        if has_private_key(pem, given, forms, caller.name, now_us):
            yield place


async def _asset_faults(
    administration: Administration, drafts: Sequence[tuple[str, AssetDraft]]
) -> dict[str, list[DocumentError]]:
    """Return errors in new assets that only a compiler can find."""
    found = {}
    for place, draft in drafts:
        faults = await administration.asset_faults(draft)
        found[place] = [DocumentError(f"{place}/content", describe_fault(fault)) for fault in faults]
    return found


async def _binding_faults(
    administration: Administration, bindings: Sequence[BindingPlace]
) -> dict[str, list[DocumentError]]:
    """Return errors in new queries and scripts of bindings, as found by their engines."""
    found: dict[str, list[DocumentError]] = {}
    directory, checked = administration.directory, dict[tuple[str, str], list[DocumentError]]()
    for place, address, name, entry in bindings:
        exchange = directory.service(address)
        saved = directory.binding(exchange.gcid, name) if exchange else None
        said = (entry.query, entry.script)
        if not any(said) or (saved is not None and (saved.query, saved.script) == said):
            continue
        if said not in checked:
            checked[said] = await _program_faults(administration, binding_of(entry, "", name, ""))
        found[place] = [
            DocumentError(f"{place}/{'query' if entry.query else 'script'}", one.detail) for one in checked[said]
        ]
    return found


async def _program_faults(administration: Administration, binding: Binding) -> list[DocumentError]:
    try:
        await check_program(binding, decider_of(binding, administration.directory), administration.judges)
    except Refused as refusal:
        return [DocumentError("", refusal.detail)]
    return []


async def _stored_secrets(
    administration: Administration, credentials: Sequence[tuple[str, str, CredentialEntry]]
) -> dict[str, str]:
    """Return the stored form of each secret; unchanged secrets keep theirs."""
    secrets: dict[str, str] = {}
    passwords = 0
    for place, address, entry in credentials:
        if entry.password is not None:
            passwords += 1
            if passwords > MAX_PASSWORDS:
                raise Refused("value.invalid", f"At most {MAX_PASSWORDS} passwords; use keys", pointer=place)
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
    for organization_name, organization in document.organizations.items():
        for name, service in organization.services.items():
            for number, entry in enumerate(service.credentials or ()):
                place = pointer("organizations", organization_name, "services", name, "credentials", number)
                yield place, f"{organization_name}/{name}", entry
