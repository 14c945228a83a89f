"""The stored explanation of a route: the rules that were tried, the values they read, and their actions.

Rule: the explanation is recorded while the route is calculated, not reconstructed afterwards. It is stored with the
message's body, because it quotes the message, and retention deletes both together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import Struct

from postroad.core.model.contexts import context_of
from postroad.core.model.message import Argument
from postroad.core.model.route import Context, Copy, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.condition_text import ExplainedCondition

FOREIGN_RULE = "of another organization"  # replaces the name of a rule that is hidden from the reader


class RuleTried(Struct, frozen=True, array_like=True):
    name: str
    version: int
    held: bool
    did: tuple[str, ...] = ()  # in words, one for each action


class ServiceTried(Struct, frozen=True, array_like=True):
    """The rules of one service, tried because of its role for this message."""

    service: str  # GCID
    role: RuleRole
    invoker: str  # GCID of the service that included it; empty: the sender
    rules: tuple[RuleTried, ...]
    seen: dict[str, tuple[str, ...]]  # the values that conditions read, by location key
    faults: tuple[str, ...] = ()  # documents that could not be read
    isolated_by: str = ""  # GCID of the service that isolates it


pack_tried: Callable[[tuple[ServiceTried, ...]], bytes] = msgspec.msgpack.Encoder().encode
unpack_tried: Callable[[bytes], tuple[ServiceTried, ...]] = msgspec.msgpack.Decoder(tuple[ServiceTried, ...]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRule:
    """A rule that was tried; ``told`` is its condition in words, None if the condition is no longer known."""

    name: str
    version: int
    held: bool
    told: ExplainedCondition | None
    did: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedService:
    """A service whose rules were tried; ``withheld`` if its rules are hidden from the reader."""

    service: str  # address
    gcid: str
    role: RuleRole
    invoker: str
    rules: tuple[ExplainedRule, ...]
    faults: tuple[str, ...] = ()
    withheld: bool = False
    isolated: bool = False  # a party other than the reader hides the wider route from it


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedInvocation:
    """A node of the itinerary as a tree; ``place`` is its position on the route, None if nothing is delivered to it."""

    service: str  # address
    gcid: str
    place: int | None
    rule: str  # name of the invoker's rule that included it; empty: named by the sender
    arguments: tuple[Argument, ...]
    topic: str
    payer: str  # address of the service that pays
    isolated: bool
    absorbs: bool
    dynamic: bool
    redirected: bool  # replaces the node above it
    children: tuple[ExplainedInvocation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCopy:
    recipient: str
    code: str
    detail: str
    route: tuple[str, ...]  # addresses in the order of delivery
    tree: tuple[ExplainedInvocation, ...]  # what the sender included, the recipient last


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteExplanation:
    """The explanation of the route that a message took or would take."""

    session: str  # empty for a hypothetical message
    sender: str
    directory: int  # the version of the directory whose rules were in force
    services: tuple[ExplainedService, ...]  # in the order in which they were tried
    copies: tuple[ExplainedCopy, ...]
    code: str = ""  # why the whole post was, or would be, refused
    detail: str = ""
    forgotten: bool = False  # only the route is still stored, not the rules that were tried


class RouteReader(Protocol):
    """The reader of a route: which services it owns, and which are hidden from it."""

    def owns(self, gcid: str) -> bool: ...

    def is_hidden(self, gcid: str, isolated_by: str) -> bool:
        """Whether another party isolates this service from the reader."""
        ...


def explained_copy(copy: Copy, directory: Directory, reader: RouteReader) -> ExplainedCopy:
    """Return the itinerary of one copy as a tree, without invocations hidden from the reader.

    For invocations between other parties, the rule and the arguments are left out.
    """
    return ExplainedCopy(
        recipient=directory.address_named(copy.named),
        code=copy.code,
        detail=copy.detail,
        route=tuple(
            [
                directory.address_named(hop.service)
                for hop in copy.hops
                if not reader.is_hidden(hop.service, hop.isolated_by)
            ]
        ),
        tree=_children(0, _nodes(copy, reader), directory, reader),
    )


_Node = tuple[Context, Hop, int | None]


def _nodes(copy: Copy, reader: RouteReader) -> list[_Node]:
    delivered = [(context_of(hop, place), hop, place) for place, hop in enumerate(copy.hops)]
    logical: list[_Node] = [(context_of(hop, 0), hop, None) for hop in copy.logical]
    return [node for node in (*delivered, *logical) if not reader.is_hidden(node[1].service, node[1].isolated_by)]


def _children(
    parent: int, nodes: list[_Node], directory: Directory, reader: RouteReader
) -> tuple[ExplainedInvocation, ...]:
    found = []
    for context, hop, place in sorted(
        (node for node in nodes if node[0].parent == parent), key=lambda node: node[0].id
    ):
        concerned = reader.owns(hop.invoker) or reader.owns(hop.service)
        found.append(
            ExplainedInvocation(
                service=directory.address_named(hop.service),
                gcid=hop.service,
                place=place,
                rule=_rule_name(context, known=reader.owns(hop.invoker)),
                arguments=hop.arguments if concerned else (),
                topic=context.topic,
                payer=directory.address_named(context.payer) if context.payer else "",
                isolated=context.isolated,
                absorbs=context.absorbs,
                dynamic=context.dynamic,
                redirected=bool(context.through),
                children=_children(context.id, nodes, directory, reader),
            )
        )
    return tuple(found)


def _rule_name(context: Context, *, known: bool) -> str:
    name = context.rule.partition("/")[2]
    return name if known or not name else FOREIGN_RULE
