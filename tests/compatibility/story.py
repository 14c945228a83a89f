"""What happens in a recorded network: every kind of journal entry, every kind of failure, and something that still waits.

Rule: everything goes over HTTP as an application would do it, except what a provider's web page would do (provisioning). At the
end, messages wait at ``Mill/Branch``, for the tests to poll, and nothing waits for a push.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from postroad.cli.commands.config.as2_keys import make_as2_key
from postroad.cli.demo import play
from postroad.cli.input.configuration import read_configuration_files
from postroad.client import AsyncClient, Part, Selector, Status, message
from postroad.core.model.caller import Caller
from postroad.errors import PostroadError
from postroad.flow.administration.base import Administration
from postroad.flow.administration.provisioning import ProvisioningRequest, begin_provisioning
from postroad.flow.registries.configuration import build_save
from tests.compatibility.network_running import BEGAN, PUSH_TIMEOUT_S, Recorded, until, variable
from tests.samples.provisioning_network import visited
from tests.samples.push_receiver import Answer, Pushed, Receiver
from tests.samples.recordings import OPERATOR, PEOPLE, STORED_SECRET, TRACE, key_of

FOLDER = Path(__file__).parent
DAY_S = 86_400
CERTIFICATE_DAYS = 36_500
NEVER = BEGAN + timedelta(days=365 * 200)  # what the tests find waiting has not expired, whenever they run
PADDING = "padding " * 10_000  # rolls the journal's segment, so that bodies of the first one can be dropped
ORDER = "<order><number>4711</number><region>north</region></order>"
FAILING = ("Refusing", "Failing", "Moved", "Mumbling", "Slow", "Silent", "Plain", "Barred", "Unset")  # services of Mill
MULTIPART = "multipart/mixed; boundary=b"
TWO_DOCUMENTS = (
    b"--b\r\nContent-Type: application/xml\r\nContent-ID: <order>\r\n\r\n<order/>\r\n"
    b"--b\r\nContent-Type: application/pdf\r\nContent-ID: <pdf>\r\nContent-Disposition: inline\r\n\r\n%PDF\r\n--b--\r\n"
)  # DIME has one document; the second becomes an attachment
TREE = {
    "name": "Regions",
    "topics": {"alarm": {"strategy": "ancestors"}},
    "root": {
        "tag": "world", "topics": ["news"], "producers": ["Harbor/Desk"],
        "nodes": [
            {"tag": "north", "topics": ["news", "alarm"], "consumers": ["Hall/Map"]},
            {"tag": "south", "topics": ["news"], "consumers": ["Hall/Chart"]},
        ],
    },
}  # fmt: skip


# ---- the first day: the purchase-order scenario, whose bodies are dropped afterwards


async def first_day(recorded: Recorded) -> None:
    """Play the purchase-order scenario, until nothing waits any more."""
    await configure(recorded, play.SCENARIO_FOLDER / "network.yaml", (play.BUYER, play.SELLER, play.UNWELCOME))
    async with AsyncClient(recorded.url, key_of(play.SELLER)) as seller:
        selling = asyncio.get_running_loop().create_task(play.confirm_orders(seller))
        try:
            await play.register_customer(recorded.at(play.BUYER))
            ordered = await play.send_order(recorded.at(play.BUYER))
            stopped = await play.send_order(recorded.at(play.UNWELCOME))
        finally:
            await play.raise_if_ended(selling)
    recorded.sessions |= {"purchase order": ordered.session, "rejected by a filter": stopped.session}
    await recorded.post("padding", play.BUYER, to=play.BUYER, document=PADDING)
    await recorded.take(play.BUYER)


async def configure(recorded: Recorded, file: Path, addresses: tuple[str, ...]) -> None:
    """Apply a file in which the keys of these services are variables."""
    names = {address: address.replace("/", "_").upper() + "_KEY" for address in addresses}
    variables = {name: key_of(address) for address, name in names.items()}
    variables |= {variable(address): key_of(address) for address in addresses}
    document, operator = read_configuration_files([str(file)], str, variables), recorded.at(OPERATOR)
    await operator.apply(document, version=(await operator.plan(document)).version)


# ---- the second day: everything else


async def second_day(recorded: Recorded, receiver: Receiver, folder: Path) -> None:
    """Everything else that can be in a journal."""
    recorded.clock.advance(DAY_S)
    file = folder / "network.yaml"
    file.write_text(
        (FOLDER / "network.yaml")
        .read_text()
        .replace("PUSH/", receiver.url("/"))
        .replace("TLS/", receiver.url("/").replace("http:", "https:"))
    )
    (folder / "partner.crt").write_text(make_as2_key("PARTNER", CERTIFICATE_DAYS).certificate_pem)
    await configure(recorded, file, services())
    for email in PEOPLE:
        await recorded.let_log_in(email)
    parts = (
        posted_and_received,
        on_the_way,
        kept_secret,
        pushed,
        failed,
        gathered,
        forwarded,
        hidden,
        administered,
        waiting,
    )
    for part in parts:
        recorded.clock.advance(600)
        await part(recorded, *([receiver] if part in (kept_secret, pushed) else []))


def services() -> tuple[str, ...]:
    """The services in ``network.yaml`` that have a key."""
    houses = yaml.safe_load((FOLDER / "network.yaml").read_text())["organizations"]
    return tuple(
        f"{house}/{name}"
        for house, entry in houses.items()
        for name, service in entry["services"].items()
        if "credentials" in service
    )


async def posted_and_received(recorded: Recorded) -> None:
    """Posts, polls and answers between two services; refusals; and the ways in which a message ends without a delivery."""
    desk = recorded.at("Harbor/Desk")
    await recorded.at("owner@harbor.example").set_cookie("Harbor/Desk", "Mill/Store", "supplier 12, terms net 30")
    await recorded.post(
        "request", "Harbor/Desk", to="Mill/Store", type="request", topic="urgent", handle="H-1", document=ORDER,
        attachments=[Part(id="drawing", content_type="image/png", data=bytes(range(64)))],
        properties={"priority": 3, "tags": ["a", "b"], "when": BEGAN}, arguments={"operation": "order"},
        traceparent=TRACE[0], tracestate=TRACE[1],
    )  # fmt: skip
    [request] = await recorded.at("Mill/Store").poll(1, wait_s=20)
    await recorded.at("Mill/Store").reply(request, "<confirmation/>")
    await recorded.take("Harbor/Desk")
    await recorded.post(
        "several recipients", "Harbor/Desk", to=["Mill/Store", "Mill/Branch", "Mill/Nowhere"], handle="H-2",
        document=ORDER,
    )  # fmt: skip
    [given] = await recorded.at("Mill/Store").poll(1, wait_s=20)
    await recorded.at("Mill/Store").give_back(given, reason="not now")
    await recorded.take("Mill/Store")
    await recorded.take("Mill/Branch")
    await recorded.post("cancelled", "Harbor/Desk", to="Mill/Short", document="never mind")
    await recorded.at("Harbor/Desk").cancel(recorded.sessions["cancelled"])
    await recorded.post(
        "expired", "Harbor/Desk", to="Mill/Short", type="request", document="quickly",
        expires_at=BEGAN + timedelta(seconds=recorded.clock.ahead_s + 60),
    )  # fmt: skip
    recorded.clock.advance(120)
    await recorded.running.network.expiry.expire_due()
    await recorded.take("Harbor/Desk")  # that it has expired
    for name, to in (("refused", "Mill/Nowhere"), ("not accepted", "Mill/Listed")):
        await refused(recorded, name, desk.post(to=to, document=ORDER, handle=f"refused {to}"))
    await recorded.post("fits", "Mill/Limited", to="Mill/Branch", document="one")
    await refused(recorded, "beyond a limit", recorded.at("Mill/Limited").post(to="Mill/Branch", document="two"))
    await recorded.take("Mill/Branch")
    await refused(recorded, "", AsyncClient(recorded.url, key_of("a stranger")).poll())
    await recorded.at("Harbor/Desk").post_many(
        message(to="Mill/Store", topic="bulk", document=f"item {number}") for number in range(3)
    )
    await recorded.take("Mill/Store", 3)


async def refused(recorded: Recorded, name: str, call: Awaitable[Any]) -> None:
    """Carry out what must be refused, and note the session of the refused message."""
    recorded.clock.advance(1)
    try:
        await call
    except PostroadError as error:
        session = getattr(error, "session", "")
        if name and session:
            recorded.sessions[name] = session
        return
    raise AssertionError(f"{name or call} was not refused")


async def on_the_way(recorded: Recorded) -> None:
    """Services in transit, named by the sender or by a rule; one fails, and the dead letter is sent again."""
    await recorded.post(
        "in transit", "Harbor/Desk", to="Mill/Store", route="Lane/Stamp", type="request", topic="order",
        document=ORDER, properties={"tons": 12},
    )  # fmt: skip
    for carrier in ("Lane/Weigh", "Lane/Stamp"):
        [passing] = await recorded.at(carrier).poll(1, wait_s=20)
        changed = ORDER.replace("</order>", "<stamp/></order>") if carrier == "Lane/Stamp" else None
        await recorded.at(carrier).reply(passing, changed)
    [request] = await recorded.at("Mill/Store").poll(1, wait_s=20)
    await recorded.at("Mill/Store").reply(request, "<confirmation/>")
    await recorded.take("Harbor/Desk")
    for name in ("failed in transit", "resent"):
        await recorded.post(name, "Harbor/Desk", to="Mill/Store", route="Lane/Stamp", document=ORDER)
        [passing] = await recorded.at("Lane/Stamp").poll(1, wait_s=20)
        answer = message(type="response", reference=passing.token, status=Status(code="no-ink", text="the pad is dry"))
        await recorded.at("Lane/Stamp").post_message(answer)
    [letter, *_] = await recorded.at(OPERATOR).dead_letters.list(session=recorded.sessions["resent"])
    await recorded.at("owner@harbor.example").dead_letters.resend(letter["delivery"], reason="new ink")
    [passing] = await recorded.at("Lane/Stamp").poll(1, wait_s=20)
    await recorded.at("Lane/Stamp").reply(passing, ORDER)
    await recorded.take("Mill/Store")
    posted = await recorded.at("Harbor/Desk").post_wire(TWO_DOCUMENTS, MULTIPART, to="Mill/Records", handle="H-3")
    recorded.sessions["left out"] = posted.session
    records = await recorded.at("Mill/Records").next_message(wait_s=20)
    assert records is not None
    await recorded.at("Mill/Records").acknowledge(records.token)


async def kept_secret(recorded: Recorded, receiver: Receiver) -> None:
    """A stored secret that is set twice and used by a push, one that is removed, and subscriptions to events that never occur."""
    owner = recorded.at("owner@mill.example")
    for value in ("old", STORED_SECRET):
        await recorded.at("owner@mill.example").secrets.set("Mill", "hook", value)
    await owner.secrets.set("Mill/Store", "unused", "never mind")
    await recorded.at("owner@mill.example").secrets.remove("Mill/Store", "unused")
    await recorded.post("sealed", "Harbor/Desk", to="Mill/Sealed", document="a secret handshake")
    await asyncio.to_thread(receiver.wait_for, "/sealed")
    never = ["certificate.expiring"]
    await owner.notifications.save("Mill", "hooks", channel="webhook", address="secret:hook", events=never)
    await owner.notifications.save("Mill", "mails", channel="email", address="ops@mill.example", events=never)


async def pushed(recorded: Recorded, receiver: Receiver) -> None:
    """Pushes: one that succeeds, one that is held and released, and all that fail."""
    receiver.answers["/refusing"] = lambda _: Answer(status=400, body=b"no")
    receiver.answers["/failing"] = receiver.answers["/failing-too"] = lambda _: Answer(status=500)
    receiver.answers["/moved"] = lambda _: Answer(status=302, headers={"location": "/elsewhere"})
    answer = json.dumps({"type": "response", "unknown": "field"}).encode()
    receiver.answers["/mumbling"] = lambda _: Answer(
        status=200, body=answer, headers={"content-type": "application/json"}
    )
    receiver.answers["/slow"] = answer_too_late
    await recorded.post("pushed", "Harbor/Desk", to="Mill/Pushed", document="3 anvils")
    await asyncio.to_thread(receiver.wait_for, "/pushed")
    for number in (1, 2):
        await recorded.post(f"held {number}", "Harbor/Desk", to="Mill/Held", document=f"held {number}")
    await recorded.at(OPERATOR).release("Mill/Held")
    await asyncio.to_thread(receiver.wait_for, "/held", 2)
    network = recorded.running.network
    barred = network.directory.service("Mill/Barred")
    assert barred is not None
    assert barred.push is not None
    # The server would refuse to save it.
    elsewhere = replace(barred, push=replace(barred.push, url="http://10.0.0.1/barred"))
    await network.configuration.change("test", [build_save(elsewhere)])
    for name in FAILING:
        await recorded.post(f"push {name}", "Harbor/Desk", to=f"Mill/{name}", type="request", document="an anvil")
        await until(lambda name=name: recorded.clients[OPERATOR].dead_letters.list(service=f"Mill/{name}"))  # type: ignore[misc]
        recorded.clock.advance(60)
    await recorded.take("Harbor/Desk", len(FAILING))  # an error response for each


def answer_too_late(_: Pushed) -> Answer:
    time.sleep(3 * PUSH_TIMEOUT_S)  # sleeps: the receiver answers too late
    return Answer()


async def failed(recorded: Recorded) -> None:
    """Dead letters of polled services, and one that is dropped."""
    for name in ("not acknowledged", "dropped"):
        await recorded.post(name, "Harbor/Desk", to="Mill/Short", document="again and again")
        for _ in range(3):
            for given in await recorded.at("Mill/Short").poll(1, wait_s=1):
                await recorded.at("Mill/Short").give_back(given)
    posted = await recorded.at("Harbor/Desk").post_wire(TWO_DOCUMENTS, MULTIPART, to="Mill/Whole")
    recorded.sessions["not whole"] = posted.session
    assert await recorded.at("Mill/Whole").next_message() is None
    broken = Part(id="1", content_type="application/edi-x12", data=interchange(99).replace(b"GE*1", b"GE*3"))
    await recorded.post("broken interchange", "Pier/edi", to="Pier/from-quay", document=broken)
    for service in ("Mill/Short", "Mill/Whole", "Pier/from-quay"):
        await until(lambda service=service: recorded.clients[OPERATOR].dead_letters.list(service=service))  # type: ignore[misc]
    [letter] = await recorded.at(OPERATOR).dead_letters.list(session=recorded.sessions["dropped"])
    await recorded.at(OPERATOR).dead_letters.drop(letter["delivery"], reason="not worth it")


def interchange(number: int) -> bytes:
    """An X12 interchange of one order, as QUAY writes it to PIER."""
    head = "ISA*00*          *00*          *ZZ*QUAY           *ZZ*PIER           *261005*1200*U*00401"
    group = f"GS*PO*QUAY*PIER*20261005*1200*{number}*X*004010~ST*850*0001~BEG*00*SA*{number}**20261005~SE*3*0001~"
    return f"{head}*{number:09}*0*T*:~{group}GE*1*{number}~IEA*1*{number:09}~".encode()


async def gathered(recorded: Recorded) -> None:
    """Batches: one is sent as an interchange, taken apart and answered by a 997; one stays open, one is suspended."""
    for number in (1, 2):
        data = f"ST*850*{number:04}~BEG*00*NE*{number}**20260105~SE*3*{number:04}~".encode()
        part = Part(id="1", content_type="application/edi-x12", data=data)
        await recorded.post(
            f"order {number}", "Quay/Sales", to="Quay/orders", document=part, properties={"priority": number}
        )
    await recorded.take("Pier/Supply", 2)
    await until(lambda: answered(recorded))
    for name in ("released", "taken out", "open"):
        await recorded.post(
            f"line {name}", "Quay/Sales", to="Quay/lines", document={"line": name}, handle=name, expires_at=NEVER
        )
        await until(lambda: recorded.clients[OPERATOR].batches.list("Quay/lines", "open"))
        [batch] = await recorded.clients[OPERATOR].batches.list("Quay/lines", "open")
        recorded.sessions[f"batch {name}"] = batch["id"]
        steering = recorded.at("developer@quay.example").batches
        if name == "released":
            await steering.pause(batch["id"], reason="wait for the price")
            await steering.resume(batch["id"], reason="the price is right")
            await steering.release(batch["id"], reason="the day is over")
            await recorded.take("Quay/inbox")
        elif name == "taken out":
            [member] = await steering.members(batch["id"])
            await steering.remove(batch["id"], member["delivery"], "ordered by mistake")


async def answered(recorded: Recorded) -> bool:
    """Whether the partner's 997 has been matched with the batch that was sent."""
    batches = recorded.clients[OPERATOR].batches
    for batch in await batches.list("Quay/orders", "sent"):
        recorded.sessions["batch sent"] = batch["id"]
        return bool((await batches.batch(batch["id"]))["answers"])
    return False


async def forwarded(recorded: Recorded) -> None:
    """Messages that an exchange or a model sends on."""
    await recorded.at(OPERATOR).models.bring("Hall/Regions", TREE)
    await recorded.post("by an exchange", "Harbor/Desk", to="Hall/Orders", topic="orders", document=ORDER, handle="H-4")
    await recorded.take("Hall/North")
    await recorded.take("Hall/Slips")
    await recorded.post("by a model", "Harbor/Desk", to="Hall/Regions", topic="news", document="fog")
    await recorded.take("Hall/Map")
    await recorded.take("Hall/Chart")


async def hidden(recorded: Recorded) -> None:
    """A provisioning, and a request to the service that stands for it: neither side sees the other."""
    network = recorded.running.network
    owner = Caller(person=network.directory.people["owner@harbor.example"])
    administration = Administration(network, recorded.running.passwords)
    for provider, service in (("Parcels/Dispatch", "Shipping"), ("Books/Ledger", "Accounts")):
        recorded.clock.advance(1)
        wish = ProvisioningRequest(organization="Harbor", provider=provider, service=service)
        begun = visited((await begin_provisioning(administration, owner, wish, "https://network.example")).redirect)
        if provider == "Parcels/Dispatch":
            await recorded.at(provider).confirm_provisioning(begun.gcid, begun.token, "<account>P-7</account>")
    await recorded.post("hidden", "Harbor/Desk", to="Harbor/Shipping", type="request", handle="H-5", document="a box")
    [request] = await recorded.at("Parcels/Dispatch").poll(1, wait_s=20)
    recorded.sessions["hidden, as the provider sees it"] = request.session
    await recorded.at("Parcels/Dispatch").reply(request, "tomorrow")
    await recorded.take("Harbor/Desk")


async def administered(recorded: Recorded) -> None:
    """Suspension, limits, and a question to the operators."""
    await recorded.post("for a suspended service", "Harbor/Desk", to="Harbor/Closed", document="wait", expires_at=NEVER)
    operator = recorded.at(OPERATOR)
    await operator.change("PUT", "/v1/services/Harbor/Closed/suspension", {"reason": "under repair"})
    await operator.change("PUT", "/v1/organizations/Books/suspension", {"reason": "unpaid bills"})
    await refused(recorded, "", recorded.at("Harbor/Desk").post(to="Harbor/Closed", document="more"))
    for name in ("dropped", "suspended"):  # an interchange that cannot be sent
        await recorded.post(f"line {name}", "Quay/Sales", to="Quay/stuck", document={"line": name}, expires_at=NEVER)
        await until(lambda: recorded.clients[OPERATOR].batches.list("Quay/stuck", "suspended"))
        [batch] = await recorded.clients[OPERATOR].batches.list("Quay/stuck", "suspended")
        recorded.sessions[f"batch {name}"] = batch["id"]
        if name == "dropped":
            await recorded.at("developer@quay.example").batches.drop(batch["id"], "not needed any more")
    opened = await recorded.at("owner@mill.example").change(
        "POST", "/v1/support", {"subject": "Where is it?", "text": "An order is missing", "session": ""}
    )
    await operator.change("POST", f"/v1/support/{opened['id']}/notes", {"text": "Found it", "close": True})
    recorded.sessions["support request"] = opened["id"]
    await recorded.at("owner@harbor.example").explanation(recorded.sessions["in transit"])  # the reading is on record


async def waiting(recorded: Recorded) -> None:
    """What the tests find waiting: three messages at Mill/Branch, of which one is leased and one was asked for."""
    await recorded.post(
        "waiting request",
        "Harbor/Desk",
        to="Mill/Branch",
        type="request",
        handle="W-1",
        document=ORDER,
        expires_at=NEVER,
        traceparent=TRACE[0],
        tracestate=TRACE[1],
    )
    for number in (2, 3):
        await recorded.post(
            f"waiting {number}",
            "Harbor/Desk",
            to="Mill/Branch",
            handle=f"W-{number}",
            document=f"waiting {number}",
            topic="second" if number == 2 else "",
            expires_at=NEVER,
        )
    await recorded.at("Mill/Branch").poll(1, lease_s=30, select=Selector(topic="second"))
