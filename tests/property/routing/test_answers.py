"""A request that was accepted for a recipient brings its sender exactly one answer for it, whatever the rules do on both ways.

Random networks through the real stages: everyone passes on what is in transit and answers what is a request. A recipient's answer
may be refused, where its own rules leave no way back; then the requester has been told by the network.
"""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import event, given, note, settings

from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import memory_network
from tests.property.routing.amount import NETWORKS, PHASES
from tests.property.routing.networks import Posted, posts

EXCHANGES = max(1, NETWORKS // 30)


@pytest.mark.req("M1", "M8", "M10", "R13")
@given(posted=posts())
@settings(max_examples=EXCHANGES, phases=PHASES)
def test_every_accepted_copy_of_a_request_is_answered_once(posted: Posted) -> None:
    note(str(posted))
    accepted, answered = asyncio.run(exchanged(posted))
    event(f"{accepted} accepted")
    assert answered == accepted


async def exchanged(posted: Posted) -> tuple[int, int]:
    """How many recipients the request was accepted for, and how many answers came to its sender, or whom that redirects to."""
    request = msgspec.structs.replace(posted.message, type=MessageType.REQUEST)
    async with memory_network() as running:
        network = running.network
        known = posted.directory
        everything = (*known.organizations.values(), *known.services.values(), *known.rules.values())
        await network.configuration.change("test", [build_save(each) for each in everything])
        try:
            result = await network.post(speaking_for(posted.sender.gcid, network.directory), request)
        except Refused:
            return 0, 0
        answers: list[Delivered] = []
        while await everyone_works(network, answers):
            pass
        assert {network.tokens.pseudonyms.real_session(each.transaction) for each in answers} <= {result.transaction}
        return len([each for each in result.recipients if not each.code]), len(answers)


def speaking_for(gcid: str, directory: Directory) -> Caller:
    return Caller(service=directory.services[gcid], level=AuthenticationLevel.KEY)


async def everyone_works(network: Network, answers: list[Delivered]) -> bool:
    """Everyone does what is asked of them; what is an answer to its receiver's own request is put with the answers."""
    busy = False
    for gcid, service in network.directory.services.items():
        if network.directory.is_suspended(service):
            continue  # it may not even look
        caller = speaking_for(gcid, network.directory)
        for delivered in await network.poll(caller, PollRequest(max=100)):
            busy = True
            if delivered.in_transit or delivered.type is MessageType.REQUEST:
                await answer(network, caller, delivered)
            else:
                await network.settle(caller, Settlement(tokens=(delivered.token,)))
                answers.append(delivered)
    return busy


async def answer(network: Network, caller: Caller, delivered: Delivered) -> None:
    """Answer; where the answer has no way back, that ends the journey, and there is nothing left to do."""
    try:
        await network.post(caller, Message(type=MessageType.RESPONSE, reference=delivered.token))
    except Refused:
        await network.settle(caller, Settlement(tokens=(delivered.token,)))
