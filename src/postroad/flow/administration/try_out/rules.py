"""Try out a rule or condition on a message before it is enabled.

Rules: nothing is stored or sent, except that a person's use of a stored message is recorded as access to it. A rule
is tried on the directory as it would be with that rule, by the code that routes messages. A condition sees a service
that the caller may not know only by its name, as the caller does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from postroad.core.admission.admit import ADDRESSED
from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.contexts import Ancestry
from postroad.core.model.directory import Role, Service
from postroad.core.model.journal import ObjectChange
from postroad.core.model.message import Argument, Message, Recipient
from postroad.core.model.route import Copy
from postroad.core.model.rule import ActionKind, Condition, Rule, RuleAction, RuleRole, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.compiled_rule import compile_condition
from postroad.core.routing.conditions.message_subject import party_of
from postroad.core.routing.conditions.subject import Addressed, NamedService, RuleHeader, Subject
from postroad.core.routing.explain.condition_text import ExplainedCondition, explain_condition
from postroad.core.routing.explain.explanation import RouteExplanation
from postroad.core.routing.paths.schema_defaults import default_attributes_of
from postroad.errors import Refused
from postroad.flow.administration.base import permission_denied, require_service
from postroad.flow.administration.messages.contents import read_message
from postroad.flow.administration.messages.explanations import as_asked, can_explain_for, find_sender
from postroad.flow.administration.rules import LAST, check_rule
from postroad.flow.network import Network
from postroad.flow.stages.explain import ExplainStage

Transform = Callable[[str, bytes, Mapping[str, str]], Awaitable[bytes]]  # runs a stylesheet on a document

HARMLESS = (RuleAction(kind=ActionKind.STOP_RULE_EVALUATION),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTrial:
    """The result of a trial; ``explanation`` is the route if the caller may send the message."""

    role: RuleRole
    held: bool
    told: ExplainedCondition
    faults: tuple[str, ...] = ()
    explanation: RouteExplanation | None = None


async def try_condition(
    network: Network, caller: Caller, service: str, condition: Condition, message: Message
) -> RuleTrial:
    """Return whether a condition holds for a message, as seen by a service of the caller."""
    owner = find_own_service(caller, network.directory, service)
    name, place = "tried", LAST
    rule = Rule(service=owner.gcid, name=name, place=place, role=RuleRole.ANY, when=condition, then=HARMLESS)
    return await _check_and_try(network, caller, owner, rule, message)


async def try_rule(network: Network, caller: Caller, rule: Rule, message: Message) -> RuleTrial:
    """Return whether a rule's condition holds, and the route of the message with it."""
    directory = network.directory
    owner = find_own_service(caller, directory, rule.service)
    existing = directory.rules.get(rule_key(owner.gcid, rule.name))
    wanted = replace(rule, service=owner.gcid, enabled=True, place=existing.place if existing else LAST)
    trial = await _check_and_try(network, caller, owner, wanted, message)
    return replace(trial, explanation=await _explained(network, caller, wanted, message))


async def _check_and_try(network: Network, caller: Caller, owner: Service, rule: Rule, message: Message) -> RuleTrial:
    """Run the trial in a thread, since patterns are compiled and documents parsed."""

    def tried() -> RuleTrial:
        check_rule(rule, network.directory, owner)
        return _tried(network, caller, owner, rule, message)

    return await network.heavy_requests.run(caller.organization or caller.name, tried)


async def try_stylesheet(
    caller: Caller, transform: Transform, sheet: str, message: Message, parameters: Mapping[str, str]
) -> str:
    """Return the result of a stylesheet for the first document of a message."""
    check_may_transform(caller)
    parts = [part for part in message.parts if not part.attachment]
    if not parts:
        raise Refused("message.incomplete", "The message has no document to transform")
    output = await transform(sheet, parts[0].data, parameters)
    return output.decode(errors="replace")


def check_may_transform(caller: Caller) -> None:
    if not caller.has_role(caller.organization, Role.DEVELOPER):
        raise permission_denied("Only a person with the role developer may test stylesheets")


def find_own_service(caller: Caller, directory: Directory, name: str) -> Service:
    """Return the service to try for: the caller itself, or one that the person may manage."""
    if caller.service is None:
        return require_service(caller, directory, name, Role.VIEWER)
    if name and directory.service(name) is not caller.service:
        raise permission_denied(
            "A service can only test its own objects; omit the service, or use a person's credentials"
        )
    return caller.service


async def load_stored_message(network: Network, caller: Caller, session: str) -> Message:
    """Return a posted message, as its sender could post it again or as it reached the caller."""
    header, parts = await read_message(network, caller, session)
    return Message(
        sender=header.sender,
        to=tuple([Recipient(copy.named, _posted_arguments(copy)) for copy in header.copies]),
        type=header.type,
        topic=header.topic,
        handle=header.handle,
        properties=header.properties,
        status=header.status,
        parts=parts,
    )


def _posted_arguments(copy: Copy) -> tuple[Argument, ...]:
    """Return the arguments for the recipient that was named; a replacement may get different ones."""
    if not copy.hops:
        return ()
    ancestry = Ancestry(copy.hops, copy.logical)
    *_, named = ancestry.upwards(len(copy.hops) - 1)
    hop = ancestry.hop(named.id)
    return hop.arguments if hop is not None else ()


def _tried(network: Network, caller: Caller, owner: Service, rule: Rule, message: Message) -> RuleTrial:
    directory = network.directory
    role = _role(owner, message, directory) if rule.role is RuleRole.ANY else rule.role
    subject = build_subject(network, caller, owner, message).seen_by(
        owner.gcid,
        role=role,
        topic=message.topic,
        arguments=_arguments(owner, message, directory),
        default_attributes=default_attributes_of(owner.gcid, directory),
        owner=owner.organization.casefold(),
    )
    held = compile_condition(rule.when)(subject)
    return RuleTrial(role=role, held=held, told=explain_condition(rule.when, subject.seen), faults=subject.faults)


def build_subject(network: Network, caller: Caller, owner: Service, message: Message) -> Subject:
    """Return a message as conditions of the caller's service see it."""
    directory, now_us = network.directory, network.clock.now_us()

    def party(name: str) -> NamedService:
        service = directory.service(name)
        known = service is not None and (caller.operator or directory.visible(service, owner.organization))
        return party_of(service) if service is not None and known else NamedService(address=name)

    header = RuleHeader(
        sender=party(message.sender or (caller.service.gcid if caller.service else "")),
        to=tuple([Addressed(party=party(item.service), arguments=item.arguments) for item in message.to]),
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        expires_at_us=message.expires_at_us,
        route=tuple([party(item.service) for item in message.route]),
        properties=message.properties,
        status=message.status,
        posted_at_us=now_us,
    )
    return Subject(header=header, parts=message.parts)


def _role(owner: Service, message: Message, directory: Directory) -> RuleRole:
    """Return the service's role for this message."""
    if directory.service(message.sender) is owner:
        return RuleRole.SENDER
    if any(directory.service(item.service) is owner for item in message.to):
        return RuleRole.RECIPIENT
    return RuleRole.IN_TRANSIT


def _arguments(owner: Service, message: Message, directory: Directory) -> tuple[Argument, ...]:
    named = [item for item in (*message.to, *message.route) if directory.service(item.service) is owner]
    return named[0].arguments if named else ()


async def _explained(network: Network, caller: Caller, rule: Rule, message: Message) -> RouteExplanation | None:
    """Return the route with the rule in force; None if the caller may not send the message or it has no route."""
    directory = network.directory
    sender = directory.service(message.sender) if message.sender else caller.service
    if sender is None or not message.to or message.type not in ADDRESSED:
        return None
    if sender is not caller.service and not can_explain_for(caller, sender):
        return None
    kind, key = object_key(rule)
    change = ObjectChange(kind, key, directory.object_version(kind, key) + 1, msgspec.to_builtins(rule))
    changed = directory.apply_changes([change], directory.version)
    plumbing = replace(network.plumbing, directory=lambda: changed)
    stage = ExplainStage(plumbing, network.tokens.pseudonyms, network.heavy_requests)
    found = await stage.explain_hypothetical(find_sender(caller, directory, message), message)
    return as_asked(caller, directory, found)
