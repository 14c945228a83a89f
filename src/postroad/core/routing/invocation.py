"""An invocation: one service called for one message, with its invoker and context.

Invocations form a tree whose root is the sender (or, later, the service that the message has just reached). An
included service is placed before or after its invoker; a redirecting service is replaced by its target. The tree,
read from left to right, is the route.
"""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.admission.policy import HIDDEN_SERVICE
from postroad.core.model.directory import Service, is_same_organization
from postroad.core.model.message import Argument
from postroad.core.model.rule import RuleRole


class Invocation:
    """A node of the tree while it grows; the finished route keeps it as a ``Hop`` with its ``Context``."""

    __slots__ = (
        "absorbs", "after", "arguments", "before", "dynamic", "included", "invoker", "isolated", "payer", "role", "rule",
        "service", "shown_sender", "stands_for", "starts_chain", "target", "through", "topic",
    )  # fmt: skip

    def __init__(
        self, service: Service, role: RuleRole, invoker: Invocation | None = None, arguments: tuple[Argument, ...] = ()
    ) -> None:
        self.service = service
        self.role = role
        self.invoker = invoker
        self.arguments = arguments
        self.topic = ""
        self.rule = ""
        self.payer: str = invoker.payer if invoker else ""
        self.shown_sender: str = invoker.shown_sender if invoker else ""
        self.isolated = False
        self.absorbs = False
        self.dynamic = False
        self.through: tuple[str, ...] = ()
        self.stands_for = ""  # GCID of the provider's service that this one represents
        self.starts_chain = invoker is None or (role is RuleRole.RECIPIENT and invoker.role is RuleRole.SENDER)
        self.before: list[Invocation] = []
        self.after: list[Invocation] = []
        self.included: list[Invocation] = []  # services before and after it, in the order of their inclusion
        self.target: Invocation | None = None  # its replacement, if it redirects

    @property
    def is_delivered(self) -> bool:
        """Whether the message is delivered to the service: it does not redirect, and is not rules-only (unless dynamic)."""
        return self.target is None and (self.dynamic or not self.service.logical_only)

    @property
    def chain(self) -> tuple[Service, ...]:
        """Return the chain of invokers down to this service; a recipient is its own start."""
        above = self.invoker.chain if self.invoker is not None and not self.starts_chain else ()
        return (*above, self.service)

    @property
    def sender(self) -> Invocation:
        """Return the invocation of the sender of the message."""
        return self if self.invoker is None else self.invoker.sender

    @property
    def shown_address(self) -> str:
        """Return the service's address for an error text, or a neutral label if it is hidden from the sender."""
        sender = self.sender.service
        above = self.invoker
        while above is not None and above.service.gcid != self.shown_sender:
            above = above.invoker
        known = [self.service] if above is None else [self.service, above.service]
        is_known = not self.shown_sender or any(
            is_same_organization(one.organization, sender.organization) for one in known
        )
        return self.service.address if is_known else HIDDEN_SERVICE

    @property
    def root(self) -> Invocation:
        """Return the start of the chain of inclusions."""
        return self if self.starts_chain or self.invoker is None else self.invoker.root

    def in_order(self) -> Iterator[Invocation]:
        """Return this invocation and all its descendants, in the order of the route.

        Services that a redirecting service included come before those that the target includes on the same side.
        """
        redirects = [self, *self.targets()]
        for node in redirects:
            for one in node.before:
                yield from one.in_order()
        yield from redirects
        for node in redirects:
            for one in node.after:
                yield from one.in_order()

    def targets(self) -> Iterator[Invocation]:
        """Yield the targets of redirection, one after the other."""
        node = self.target
        while node is not None:
            yield node
            node = node.target

    def hops_behind(self) -> int:
        """Return how many of the services it added are delivered to after it."""
        after = [one for node in (self, *self.targets()) for one in node.after]
        return sum(node.is_delivered for one in after for node in one.in_order())

    def size(self) -> int:
        """Return how many invocations this one caused, including itself."""
        return sum(1 for _ in self.in_order())
