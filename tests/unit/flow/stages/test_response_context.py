"""An invoker that sees a response again may change its context on the way up to whoever asked."""

from __future__ import annotations

import pytest

from postroad.core.model.message import MessageType, Property
from postroad.testing import Scenario

BUYER, FRONT, SUPPLY = "MyBiz/Buyer", "Transmatics/Front", "Acme/Supply"


@pytest.mark.req("R13")
async def test_an_invoker_changes_the_response_context_on_its_way_up() -> None:
    async with Scenario() as scenario:
        await scenario.service(BUYER)
        await scenario.service(FRONT, returns=True)
        await scenario.service(SUPPLY)
        await scenario.post(BUYER, SUPPLY, "done", route=[FRONT], type=MessageType.REQUEST)
        out = await scenario.receive(FRONT)
        await scenario.respond(out, parts=out.parts)
        given = (Property("result", "raw"), Property("carrier", "ship"))
        await scenario.respond(await scenario.receive(SUPPLY), "done", properties=given)
        back = await scenario.receive(FRONT)
        assert back.properties == given
        changed = (Property("result", "checked"), Property("checkedBy", "Front"))
        await scenario.respond(back, parts=back.parts, properties=changed)
        got = await scenario.receive(BUYER)
        assert {one.name: one.value for one in got.properties} == {
            "result": "checked", "carrier": "ship", "checkedBy": "Front",
        }  # fmt: skip
