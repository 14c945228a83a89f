"""Explain a message's route: of one that was posted, from what was recorded then; of one that was not, by trying it.

Kept rules: explaining stores and sends nothing; each organization reads the rules of its own services and, of the others', only
what they did to the route; an operator reads which rules held, but not what they saw in the message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import msgspec
from msgspec.structs import replace

from postroad.core.admission.admit import ADDRESSED, admit
from postroad.core.audit.refused_story import refused_copies
from postroad.core.identity.veil import Veil
from postroad.core.model.caller import Caller
from postroad.core.model.journal import Copy, Hop, InvocationReturned, MessagePosted, decode
from postroad.core.model.message import Message
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import CONTENT, MESSAGE
from postroad.core.routing.contexts import is_asker_hidden
from postroad.core.routing.explanation import (
    ExplainedCopy,
    ExplainedRule,
    ExplainedService,
    Explanation,
    RuleTried,
    ServiceTried,
    explained_copy,
    unpack,
)
from postroad.core.routing.itinerary import Attempted, attempted
from postroad.core.routing.shares import Budget
from postroad.core.routing.telling import tell
from postroad.errors import Refused
from postroad.flow.heavy_work import HeavyWork
from postroad.flow.refusing import load_explained_refusal
from postroad.flow.routed_post import check_recipients
from postroad.ports import BodyAt, Clock, IndexReader, Journal

BODY_OF_MESSAGE = MESSAGE.index("body_segment")
BODY_OF_CONTENT = CONTENT.index("body_segment")
VALUE, VERSION = 3, 2  # of a row of object_versions


COPIES_A_TURN = 200  # that are told of in some milliseconds


class Reader:
    """Who reads an explanation, and what that one may see of it."""

    def __init__(self, organization: str | None, directory: Directory) -> None:
        self.sees_values = organization is not None
        self._organization = organization.casefold() if organization is not None else None
        self._directory = directory

    def owns(self, gcid: str) -> bool:
        service = self._directory.services.get(gcid)
        return self._organization is None or (
            service is not None and service.organization.casefold() == self._organization
        )

    def is_hidden(self, hop: Hop) -> bool:
        """Whether somebody else included this service and keeps it to itself."""
        return self.is_kept_back(hop.service, hop.context.shown_sender if hop.context is not None else "")

    def is_kept_back(self, service: str, isolating: str) -> bool:
        return bool(isolating) and not self.owns(isolating) and not self.owns(service)


class ExplainStage:
    def __init__(
        self,
        journal: Journal,
        index: IndexReader,
        directory: Callable[[], Directory],
        clock: Clock,
        indexed: Callable[[], Awaitable[None]],
        veil: Veil,
        heavy: HeavyWork,
    ) -> None:
        self._journal = journal
        self._index = index
        self._directory = directory
        self._clock = clock
        self._indexed = indexed
        self._veil = veil
        self._heavy = heavy

    async def hypothetical(self, caller: Caller, message: Message) -> Explanation:
        """What would become of this message if it were posted now; raises Refused when it would not be admitted at all."""
        directory = self._directory()
        if message.type not in ADDRESSED:
            raise Refused(
                "value.invalid", "Requests and notifications have a route to explain; a response follows its own"
            )
        admitted = admit(message, caller, directory, self._clock.now_us())

        def attempt(at_once: int | None) -> Attempted:
            check_recipients(message, at_once)
            return attempted(admitted, directory, Budget(at_once))

        found = await self._heavy.route(admitted.sender.organization, attempt)
        reader = Reader(admitted.sender.organization, directory)
        return Explanation(
            session="",
            sender=admitted.sender.address,
            directory=directory.version,
            services=await self._services(found.tried, reader),
            copies=await _told(found.copies, lambda copy: explained_copy(copy, directory, reader)),
            code=found.refusal.code if found.refusal else "",
            detail=found.refusal.detail if found.refusal else "",
        )

    async def stored(self, session: str, organization: str | None) -> Explanation | None:
        """Why the message of this session went the way it did; None when the organization had no part in it."""
        await self._indexed()
        for row in await self._index.query("message", self._veil.real_session(session)):
            message = decode(row[MESSAGE.index("header")])
            if isinstance(message, MessagePosted) and self._took_part(message, organization):
                return await self._stored(row, message, Reader(organization, self._directory()))
        return await self._refused(session, Reader(organization, self._directory()))

    async def _refused(self, session: str, reader: Reader) -> Explanation | None:
        """Explain why a post was rejected, for its sender's organization."""
        directory = self._directory()
        for seq, *_ in await self._index.query("refused", session):
            entry, tried, forgotten = await load_explained_refusal(self._journal, seq)
            if entry.sender and reader.owns(entry.sender):
                sender = directory.services.get(entry.sender)
                return Explanation(
                    session=session,
                    sender=sender.address if sender is not None else entry.sender,
                    directory=entry.directory,
                    services=await self._services(tried, reader),
                    copies=await _told(refused_copies(entry), lambda copy: explained_copy(copy, directory, reader)),
                    code=entry.code,
                    detail=entry.detail,
                    forgotten=forgotten,
                )
        return None

    def _took_part(self, message: MessagePosted, organization: str | None) -> bool:
        reader = Reader(organization, self._directory())
        services = [message.sender, *[hop.service for copy in message.copies for hop in (*copy.hops, *copy.logical)]]
        return any(reader.owns(gcid) for gcid in services)

    async def _stored(self, row: tuple[object, ...], message: MessagePosted, reader: Reader) -> Explanation:
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
        return Explanation(
            session=message.session,
            sender=_shown_sender(message, directory, reader),
            directory=message.directory,
            services=await self._services(_told_of(message, tried, reader), reader),
            copies=await _told(copies, lambda copy: _as_told(message, copy, directory, reader)),
            forgotten=forgotten,
        )

    async def _tried(self, size: int, at: tuple[object, ...]) -> tuple[tuple[ServiceTried, ...], bool]:
        """What was recorded behind a body; and whether it was, but is no longer kept."""
        if not size:
            return (), False
        body = await self._journal.body(BodyAt(*at))  # type: ignore[arg-type]
        return (unpack(body[-size:]), False) if body is not None else ((), True)

    async def _services(self, tried: tuple[ServiceTried, ...], reader: Reader) -> tuple[ExplainedService, ...]:
        return tuple(
            [await self._service(one, reader) for one in tried if not reader.is_kept_back(one.service, one.isolated_by)]
        )

    async def _service(self, one: ServiceTried, reader: Reader) -> ExplainedService:
        directory = self._directory()
        withheld = not reader.owns(one.service)
        rules = () if withheld else tuple([await self._rule(one, rule, reader) for rule in one.rules])
        service, invoker = directory.services.get(one.service), directory.services.get(one.invoker)
        return ExplainedService(
            service=service.address if service is not None else one.service,
            gcid=one.service,
            role=one.role,
            invoker=invoker.address if invoker is not None else one.invoker,
            rules=rules,
            faults=() if withheld else one.faults,
            withheld=withheld,
            isolated=bool(one.isolated_by) and not reader.owns(one.isolated_by),
        )

    async def _rule(self, one: ServiceTried, tried: RuleTried, reader: Reader) -> ExplainedRule:
        told = None
        if reader.sees_values:
            rule = await self._rule_at(rule_key(one.service, tried.name), tried.version)
            told = tell(rule.when, one.seen) if rule is not None else None
            await asyncio.sleep(0)  # a message may pass thousands of rules; others take their turn between them
        return ExplainedRule(name=tried.name, version=tried.version, held=tried.held, told=told, did=tried.did)

    async def _rule_at(self, key: str, version: int) -> Rule | None:
        """The rule as it was in that version."""
        directory = self._directory()
        if directory.object_version("rule", key) == version:
            return directory.rules.get(key)
        for row in await self._index.query("object_versions", "rule", key):
            if row[VERSION] == version and row[VALUE]:
                return msgspec.json.decode(row[VALUE], type=Rule)
        return None


async def _told(copies: Iterable[Copy], tell_of: Callable[[Copy], ExplainedCopy]) -> tuple[ExplainedCopy, ...]:
    """Each copy as it is told of; a message may have thousands, and others take their turn between them."""
    told = []
    for number, copy in enumerate(copies, 1):
        told.append(tell_of(copy))
        if number % COPIES_A_TURN == 0:
            await asyncio.sleep(0)
    return tuple(told)


def _shown_sender(message: MessagePosted, directory: Directory, reader: Reader) -> str:
    """The sender, or whom the receiver of a response takes for it."""
    shown = message.shown_sender if message.shown_sender and not reader.owns(message.sender) else message.sender
    service = directory.services.get(shown)
    return service.address if service is not None else shown


def _as_told(message: MessagePosted, copy: Copy, directory: Directory, reader: Reader) -> ExplainedCopy:
    """A copy's way; a response to somebody who is kept from its sender goes to whoever stands between them."""
    shown = _unknown_requester(message, reader)
    if shown:
        return explained_copy(Copy(shown, (Hop(shown, (), message.sender),)), directory, reader)
    is_named_for_sender = message.answers is not None and message.answers.shown_requester and copy.hops
    if is_named_for_sender and not _is_beside_sender(message, copy, reader):
        copy = Copy(copy.hops[-1].service, copy.hops, logical=copy.logical)
    return explained_copy(copy, directory, reader)


def _is_beside_sender(message: MessagePosted, copy: Copy, reader: Reader) -> bool:
    """Whether the reader is on the side of a responder that does not know who asked, and on no other."""
    own = [place for place, hop in enumerate(copy.hops) if reader.owns(hop.service)]
    return bool(own) and all(is_asker_hidden(message, place, copy.hops, copy.logical) for place in own)


def _told_of(message: MessagePosted, tried: tuple[ServiceTried, ...], reader: Reader) -> tuple[ServiceTried, ...]:
    """The services whose rules were tried, without anyone of a side that the reader does not know."""
    if _unknown_requester(message, reader):
        return tuple([one for one in tried if reader.owns(one.service)])
    if not message.shown_sender or reader.owns(message.sender):
        return tried
    return tuple(
        [replace(one, invoker=message.shown_sender) if one.invoker == message.sender else one for one in tried]
    )


def _unknown_requester(message: MessagePosted, reader: Reader) -> str:
    """Who stands in the place of the requester for the sender of this response; empty where the requester is known."""
    shown = message.answers.shown_requester if message.answers is not None else ""
    return shown if shown and reader.owns(message.sender) and not reader.owns(shown) else ""
