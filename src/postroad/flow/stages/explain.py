"""Explain a message's route: a posted one from its record, a hypothetical one by routing it.

Rules: explaining stores and sends nothing. Each organization reads the rules of its own services and, for other
services, only the effect on the route. An operator reads which rules matched, but not which values they saw in the
message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from postroad.core.admission.admit import ADDRESSED, admit
from postroad.core.audit.history.refused_post import refused_copies
from postroad.core.model.caller import Caller
from postroad.core.model.contexts import is_requester_hidden
from postroad.core.model.journal import InvocationReturned, MessagePosted, MessageRefused, decode
from postroad.core.model.message import Message
from postroad.core.model.route import Copy, Hop
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import CONTENT, MESSAGE
from postroad.core.routing.budget import Budget
from postroad.core.routing.explain.condition_text import explain_condition
from postroad.core.routing.explain.explanation import (
    ExplainedCopy,
    ExplainedRule,
    ExplainedService,
    RouteExplanation,
    RuleTried,
    ServiceTried,
    explained_copy,
    unpack_tried,
)
from postroad.core.routing.itinerary import AttemptedRoute, attempt_itineraries
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.viewer import Viewer
from postroad.errors import Refused
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages.routed_post import check_recipients
from postroad.ports import BodyAt, Journal

BODY_OF_MESSAGE = MESSAGE.index("body_segment")
BODY_OF_CONTENT = CONTENT.index("body_segment")
VALUE, VERSION = 3, 2  # of a row of object_versions


COPIES_A_TURN = 200  # that are processed in a few milliseconds


class ExplainStage:
    def __init__(self, plumbing: Plumbing, pseudonyms: Pseudonyms, heavy: HeavyWork) -> None:
        self._journal, self._index, self._clock = plumbing.journal, plumbing.index, plumbing.clock
        self._directory, self._wait_until_indexed = plumbing.directory, plumbing.wait_until_indexed
        self._pseudonyms = pseudonyms
        self._heavy = heavy

    async def explain_hypothetical(self, caller: Caller, message: Message) -> RouteExplanation:
        """Explain how this message would be routed now; raises Refused if it would not be admitted."""
        directory = self._directory()
        if message.type not in ADDRESSED:
            raise Refused("value.invalid", "Only requests and notifications have a route to explain")
        admitted = admit(message, caller, directory, self._clock.now_us())

        def attempt(at_once: int | None) -> AttemptedRoute:
            check_recipients(message, at_once)
            return attempt_itineraries(admitted, directory, Budget(at_once))

        found = await self._heavy.route(admitted.sender.organization, attempt)
        viewer = Viewer(directory, admitted.sender.organization)
        return RouteExplanation(
            session="",
            sender=admitted.sender.address,
            directory=directory.version,
            services=await self._services(found.tried, viewer),
            copies=await _explain_copies(found.copies, lambda copy: explained_copy(copy, directory, viewer)),
            code=found.refusal.code if found.refusal else "",
            detail=found.refusal.detail if found.refusal else "",
        )

    async def explain_stored(self, session: str, organization: str | None) -> RouteExplanation | None:
        """Explain the route of a posted message; None if the organization took no part in it."""
        await self._wait_until_indexed()
        for row in await self._index.query("message", self._pseudonyms.real_session(session)):
            message = decode(row[MESSAGE.index("header")])
            if isinstance(message, MessagePosted) and self._took_part(message, organization):
                return await self._stored(row, message, Viewer(self._directory(), organization))
        return await self._refused(session, Viewer(self._directory(), organization))

    async def _refused(self, session: str, viewer: Viewer) -> RouteExplanation | None:
        """Explain why a post was rejected, for its sender's organization."""
        directory = self._directory()
        for seq, *_ in await self._index.query("refused", session):
            entry, tried, forgotten = await load_explained_refusal(self._journal, seq)
            if entry.sender and viewer.owns(entry.sender):
                return RouteExplanation(
                    session=session,
                    sender=directory.address_of(entry.sender),
                    directory=entry.directory,
                    services=await self._services(tried, viewer),
                    copies=await _explain_copies(
                        refused_copies(entry), lambda copy: explained_copy(copy, directory, viewer)
                    ),
                    code=entry.code,
                    detail=entry.detail,
                    forgotten=forgotten,
                )
        return None

    def _took_part(self, message: MessagePosted, organization: str | None) -> bool:
        viewer = Viewer(self._directory(), organization)
        services = [message.sender, *[hop.service for copy in message.copies for hop in (*copy.hops, *copy.logical)]]
        return any(viewer.owns(gcid) for gcid in services)

    async def _stored(self, row: tuple[Any, ...], message: MessagePosted, viewer: Viewer) -> RouteExplanation:
        directory = self._directory()
        tried, forgotten = await self._tried(message.explained, row[BODY_OF_MESSAGE : BODY_OF_MESSAGE + 4])
        copies = list(message.copies)
        for content in await self._index.query("transaction_contents", message.transaction):
            returned = decode(content[CONTENT.index("facts")])
            if isinstance(returned, InvocationReturned) and returned.message == row[0]:
                more, gone = await self._tried(returned.explained, content[BODY_OF_CONTENT : BODY_OF_CONTENT + 4])
                tried, forgotten = (*tried, *more), forgotten or gone
                if returned.hops:
                    copies[returned.copy] = Copy(copies[returned.copy].named, returned.hops, logical=returned.logical)
        return RouteExplanation(
            session=message.session,
            sender=_shown_sender(message, directory, viewer),
            directory=message.directory,
            services=await self._services(_visible_services(message, tried, viewer), viewer),
            copies=await _explain_copies(copies, lambda copy: _explain_copy(message, copy, directory, viewer)),
            forgotten=forgotten,
        )

    async def _tried(self, size: int, at: tuple[Any, ...]) -> tuple[tuple[ServiceTried, ...], bool]:
        """Return the explanation stored behind a body, and whether it has been dropped by retention."""
        if not size:
            return (), False
        body = await self._journal.body(BodyAt(*at))
        return (unpack_tried(body[-size:]), False) if body is not None else ((), True)

    async def _services(self, tried: tuple[ServiceTried, ...], viewer: Viewer) -> tuple[ExplainedService, ...]:
        return tuple(
            [await self._service(one, viewer) for one in tried if not viewer.is_hidden(one.service, one.isolated_by)]
        )

    async def _service(self, one: ServiceTried, viewer: Viewer) -> ExplainedService:
        directory = self._directory()
        withheld = not viewer.owns(one.service)
        rules = () if withheld else tuple([await self._rule(one, rule, viewer) for rule in one.rules])
        return ExplainedService(
            service=directory.address_of(one.service),
            gcid=one.service,
            role=one.role,
            invoker=directory.address_of(one.invoker),
            rules=rules,
            faults=() if withheld else one.faults,
            withheld=withheld,
            isolated=bool(one.isolated_by) and not viewer.owns(one.isolated_by),
        )

    async def _rule(self, one: ServiceTried, tried: RuleTried, viewer: Viewer) -> ExplainedRule:
        told = None
        if not viewer.is_network:
            rule = await self._rule_at(rule_key(one.service, tried.name), tried.version)
            told = explain_condition(rule.when, one.seen) if rule is not None else None
            await asyncio.sleep(0)  # a message may pass thousands of rules: yield to other tasks
        return ExplainedRule(name=tried.name, version=tried.version, held=tried.held, told=told, did=tried.did)

    async def _rule_at(self, key: str, version: int) -> Rule | None:
        """Return the rule as it was in that version."""
        directory = self._directory()
        if directory.object_version("rule", key) == version:
            return directory.rules.get(key)
        for row in await self._index.query("object_versions", "rule", key):
            if row[VERSION] == version and row[VALUE]:
                return msgspec.json.decode(row[VALUE], type=Rule)
        return None


async def _explain_copies(
    copies: Iterable[Copy], tell_of: Callable[[Copy], ExplainedCopy]
) -> tuple[ExplainedCopy, ...]:
    """Explain each copy, yielding to other tasks between portions."""
    told = []
    for number, copy in enumerate(copies, 1):
        told.append(tell_of(copy))
        if number % COPIES_A_TURN == 0:
            await asyncio.sleep(0)
    return tuple(told)


def _shown_sender(message: MessagePosted, directory: Directory, viewer: Viewer) -> str:
    """Return the sender of a response as its receiver sees it."""
    shown = message.shown_sender if message.shown_sender and not viewer.owns(message.sender) else message.sender
    return directory.address_of(shown)


def _explain_copy(message: MessagePosted, copy: Copy, directory: Directory, viewer: Viewer) -> ExplainedCopy:
    """Explain a copy's route; a response to a hidden requester ends at the service that hides it."""
    shown = _unknown_requester(message, viewer)
    if shown:
        return explained_copy(Copy(shown, (Hop(shown, (), message.sender),)), directory, viewer)
    is_named_for_sender = message.answers is not None and message.answers.shown_requester and copy.hops
    if is_named_for_sender and not _is_beside_sender(message, copy, viewer):
        copy = Copy(copy.hops[-1].service, copy.hops, logical=copy.logical)
    return explained_copy(copy, directory, viewer)


def _is_beside_sender(message: MessagePosted, copy: Copy, viewer: Viewer) -> bool:
    """Whether the viewer is only on the side of a responder from which the requester is hidden."""
    own = [place for place, hop in enumerate(copy.hops) if viewer.owns(hop.service)]
    return bool(own) and all(is_requester_hidden(message, place, copy.hops, copy.logical) for place in own)


def _visible_services(
    message: MessagePosted, tried: tuple[ServiceTried, ...], viewer: Viewer
) -> tuple[ServiceTried, ...]:
    """Return the services whose rules were tried, without those of a side hidden from the viewer."""
    if _unknown_requester(message, viewer):
        return tuple([one for one in tried if viewer.owns(one.service)])
    if not message.shown_sender or viewer.owns(message.sender):
        return tried
    return tuple(
        [replace(one, invoker=message.shown_sender) if one.invoker == message.sender else one for one in tried]
    )


def _unknown_requester(message: MessagePosted, viewer: Viewer) -> str:
    """Return the service that replaces the requester for the sender of this response; '' if it is known."""
    shown = message.answers.shown_requester if message.answers is not None else ""
    return shown if shown and viewer.owns(message.sender) and not viewer.owns(shown) else ""


async def load_refusal(journal: Journal, seq: int) -> MessageRefused:
    """Return the rejected post that is entry ``seq``."""
    return (await _load(journal, seq))[0]


async def load_explained_refusal(journal: Journal, seq: int) -> tuple[MessageRefused, tuple[ServiceTried, ...], bool]:
    """Return the rejected post, the services whose rules were tried, and whether retention dropped that list."""
    entry, at = await _load(journal, seq)
    if not entry.explained or at is None:
        return entry, (), False
    body = await journal.body(at)
    return (entry, unpack_tried(body), False) if body is not None else (entry, (), True)


async def _load(journal: Journal, seq: int) -> tuple[MessageRefused, BodyAt | None]:
    record = (await journal.read(seq - 1, 1)).records[0]
    entry = decode(record.facts)
    if not isinstance(entry, MessageRefused):
        raise ValueError(f"entry {seq} is not a rejected post")
    return entry, record.body
