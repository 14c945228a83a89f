"""Routes a response back to the requester, through the services that requested to receive it.

Rules: a response may always return to the requester. Contexts of the request's route are restored for services that
receive the response too. An error that an invoker absorbed is not reported further up.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.admission.policy import check_policies
from postroad.core.model.contexts import Ancestry
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Service, is_same_organization
from postroad.core.model.message import Status
from postroad.core.model.route import Copy, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.message_subject import response_subject
from postroad.core.routing.explain.explanation import ServiceTried
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.layout import check_delivered, lay_out, services_of
from postroad.core.routing.rules.dynamic_routing import apply_dynamic_rules
from postroad.core.routing.rules.evaluation import HIDDEN_CHAIN, RuleEvaluation, has_rules
from postroad.core.routing.rules.isolated_services import isolated_in_trees
from postroad.errors import Refused


class ReturnRoute(NamedTuple):
    """A response's copy, the sender and status that its receiver sees, and the rules that were tried."""

    copy: Copy
    shown_sender: str
    status: Status | None
    tried: tuple[ServiceTried, ...] = ()


def return_route(
    admitted: Admitted, queued: Queued, requester: Service, directory: Directory, budget: Budget | None = None
) -> ReturnRoute:
    """Return the route of the response to this delivery; raises Refused if the route is not valid."""
    shown_sender, status = _as_seen_above(admitted, queued)
    watching = [hop for hop in reversed(queued.hops[: queued.hop]) if _asks_for_returns(hop, directory)]
    ruled = has_rules(admitted.sender, RuleRole.SENDER, directory) or has_rules(
        requester, RuleRole.RECIPIENT, directory
    )
    if not watching and not ruled and not requester.logical_only:
        check_policies(
            admitted.caller, admitted.sender, (requester,), _hidden_requester(queued, requester, admitted, directory)
        )
        copy = Copy(_shown_requester(queued, requester, directory), (Hop(requester.gcid, (), admitted.sender.gcid),))
        return ReturnRoute(copy, shown_sender, status)
    subject = partial(response_subject, admitted, queued, requester, directory, shown_sender, budget)
    elaboration = RuleEvaluation(directory, subject)
    return _elaborated(admitted, queued, requester, elaboration, watching, shown_sender)._replace(status=status)


def _as_seen_above(admitted: Admitted, queued: Queued) -> tuple[str, Status | None]:
    """Return the sender that the requester sees, and the status left after invokers absorbed errors."""
    contexts = list(Ancestry(queued.hops, queued.logical).upwards(queued.hop))
    through = contexts[0].through
    absorbed = any(context.absorbs for context in contexts)
    return through[0] if through else "", None if absorbed else admitted.message.status


def _shown_requester(queued: Queued, requester: Service, directory: Directory) -> str:
    """Return the requester as the responder knows it, even if it no longer exists."""
    if not queued.shown_sender:
        return requester.address
    return directory.address_of(queued.shown_sender)


def _hidden_requester(queued: Queued, requester: Service, admitted: Admitted, directory: Directory) -> frozenset[str]:
    """Return the requester's GCID if it is hidden from the responder; otherwise an empty set."""
    shown = directory.services.get(queued.shown_sender)
    known = [admitted.sender] if shown is None else [admitted.sender, shown]
    is_known = any(is_same_organization(requester.organization, one.organization) for one in known)
    return frozenset([requester.gcid]) if queued.shown_sender and not is_known else frozenset()


def _asks_for_returns(hop: Hop, directory: Directory) -> bool:
    service = directory.services.get(hop.service)
    return service is not None and service.returns


def _elaborated(
    admitted: Admitted,
    queued: Queued,
    requester: Service,
    elaboration: RuleEvaluation,
    watching: list[Hop],
    shown_sender: str,
) -> ReturnRoute:
    directory = elaboration.directory
    sender = Invocation(admitted.sender, RuleRole.SENDER)
    elaboration.elaborate([sender])
    recipient = elaboration.bring_in(requester, sender, (), RuleRole.RECIPIENT)
    recipient.stands_for = ""  # the response is for the requester itself, not for the provider it represents
    elaboration.elaborate([recipient])
    check_delivered(recipient)
    roots = [*sender.after, *[_seen_again(hop, directory) for hop in watching], recipient]
    kept = isolated_in_trees(admitted.sender, roots, directory) | _hidden_requester(
        queued, requester, admitted, directory
    )
    check_policies(admitted.caller, admitted.sender, services_of(roots), kept)
    route = apply_dynamic_rules(lay_out(roots), 0, elaboration, admitted.sender)
    copy = Copy(_shown_requester(queued, requester, directory), route.hops, logical=route.logical)
    return ReturnRoute(copy, shown_sender, None, tuple(elaboration.tried))


def _seen_again(hop: Hop, directory: Directory) -> Invocation:
    """Return the invocation of a service that also receives the response, in its context of the request."""
    invoking = directory.services.get(hop.invoker)
    invoker = Invocation(invoking, RuleRole.SENDER) if invoking is not None else None
    service = directory.services[hop.service]
    if directory.is_suspended(service):
        is_hidden = bool(hop.isolated_by)
        raise Refused(
            "recipient.suspended",
            HIDDEN_CHAIN if is_hidden else f"{service.address}, which asked to see it, is suspended",
        )
    node = Invocation(service, RuleRole.IN_TRANSIT, invoker, hop.arguments)
    if hop.context is not None:
        node.topic, node.payer, node.rule = hop.context.topic, hop.context.payer, hop.context.rule
        node.shown_sender, node.isolated = hop.context.shown_sender, hop.context.isolated
        node.absorbs, node.through = hop.context.absorbs, hop.context.through
    return node
