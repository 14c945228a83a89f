"""The SDK against a real server process: what programs do all day, and what happens when the line or the server fails."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.client import (
    Access,
    AsyncClient,
    Client,
    Delivered,
    MessageType,
    Refused,
    Reply,
    Retrying,
    Selector,
    Status,
    Unavailable,
    json_of,
    message,
    text_of,
)
from tests.acceptance.lossy_proxy import lossy
from tests.samples.served_network import Served, clean_environment, served
from tests.waiting import eventually

BUYER, SELLER, STAMPER = "MyBiz/Purchasing", "Acme/Supply", "Transmatics/stamp"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PATIENT = Retrying(tries=300, first_s=0.05, most_s=0.5)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("sdk") / "data") as running:
        running.register(BUYER, SELLER, STAMPER)
        yield running


@pytest.fixture
def buyer(network: Served) -> Iterator[Client]:
    with network.client(BUYER) as client:
        yield client


@pytest.fixture
def seller(network: Served) -> Iterator[Client]:
    """A receiver whose mailbox is empty at the start."""
    with network.client(SELLER) as client:
        while messages := client.poll(1000):
            client.acknowledge(*messages)
        yield client


@pytest.mark.req("K1", "C2")
async def test_a_message_is_found_by_what_is_known_of_it(buyer: Client, network: Served) -> None:
    posted = buyer.post(to=SELLER, handle="FIND-1", document={"item": "anvil"})
    [found] = buyer.find("find-1")
    assert (found["session"], found["by"]) == (posted.session, ["handle"])
    assert found["whereabouts"][0]["where"] == f"It waits in the mailbox of {SELLER}."
    async with AsyncClient(access=network.access(BUYER)) as same:
        assert await same.find("find-1") == [found]
        assert await same.find("find-2") == []


@pytest.mark.req("K1", "M1", "M7", "M11")
def test_request_reply_and_trace(buyer: Client, seller: Client) -> None:
    posted = buyer.post(to=SELLER, type="request", topic="orders", handle="PO-1", document={"item": "anvil"})
    [request] = seller.poll(wait_s=10)
    assert (request.session, request.sender, request.type) == (posted.session, BUYER, MessageType.REQUEST)
    assert json_of(request) == {"item": "anvil"}
    answer = seller.reply(request, "<Confirmed/>")
    [response] = buyer.poll(wait_s=10, select=Selector(transaction=posted.transaction))
    assert text_of(response) == "<Confirmed/>"
    assert response.reference is not None
    assert (response.reference.session, response.reference.handle) == (posted.session, "PO-1")
    assert [settled.code for settled in buyer.acknowledge(response).settled] == [""]
    history = seller.trace(answer.session)
    assert [told.session for told in history.messages] == [posted.session, answer.session]
    stops = [stop for told in history.messages for copy in told.copies for stop in copy.stops]
    assert [stop.state for stop in stops] == ["delivered", "delivered"]
    assert [event.what for event in stops[0].events] == ["handed out", "answered"]


@pytest.mark.req("K1")
async def test_the_same_with_asyncio(network: Served, seller: Client) -> None:
    async with (
        AsyncClient(access=network.access(BUYER)) as sender,
        AsyncClient(access=network.access(SELLER)) as receiver,
    ):
        posted = await sender.post(to=SELLER, type="request", document="hello")
        [request] = await receiver.poll(wait_s=10)
        await receiver.give_back(request, reason="in a moment")
        [again] = await receiver.poll(wait_s=10)
        assert (again.session, again.attempt) == (posted.session, 2)
        await receiver.reply(again, Reply(status=Status("sold-out", "no more")))
        [response] = await sender.poll(wait_s=10, select=Selector(transaction=posted.transaction))
        assert response.status == Status("sold-out", "no more")
        await sender.acknowledge(response)
        assert (await sender.trace(posted.session)).transaction == posted.transaction


@pytest.mark.req("K1", "D1")
def test_many_messages_arrive_once_each_and_in_order(buyer: Client, seller: Client) -> None:
    done: list[int] = []
    answers = buyer.post_many((message(to=SELLER, document=f"{number}") for number in range(2500)), done.append)
    assert not [answer for answer in answers if isinstance(answer, Refused)]
    assert done == [1000, 2000, 2500]
    received: list[str] = []
    while messages := seller.poll(1000):
        received += [text_of(item) for item in messages]
        seller.acknowledge(*messages)
    assert received == [str(number) for number in range(2500)]


@pytest.mark.req("M6", "K1")
def test_a_lost_answer_never_doubles_a_message(network: Served, seller: Client) -> None:
    key = network.access(BUYER)
    with lossy(network.url) as proxy, Client(access=Access(url=proxy.url, authorization=key.authorization),
                                             retrying=PATIENT) as far:  # fmt: skip
        proxy.losing = 3
        single = far.post(to=SELLER, document="single")
        proxy.losing = 2
        many = far.post_many([message(to=SELLER, document=f"bulk {number}") for number in range(20)])
        assert proxy.lost == 5
    received = seller.poll(100)
    seller.acknowledge(*received)
    assert Counter(map(text_of, received)) == Counter(["single", *(f"bulk {number}" for number in range(20))])
    assert [single.session, *(answer.session for answer in many)] == [item.session for item in received]
    assert not [answer for answer in many if isinstance(answer, Refused)]


@pytest.mark.req("K1")
def test_a_lost_answer_to_a_reply_is_no_error(network: Served, buyer: Client, seller: Client) -> None:
    posted = buyer.post(to=SELLER, type="request", document="?")
    [request] = seller.poll(wait_s=10)
    key = network.access(SELLER)
    with lossy(network.url) as proxy, Client(access=Access(url=proxy.url, authorization=key.authorization),
                                             retrying=PATIENT) as far:  # fmt: skip
        proxy.losing = 1
        replied = far.reply(request, "!")
    responses = buyer.poll(wait_s=30, select=Selector(transaction=posted.transaction))
    assert [item.session for item in responses] == [replied.session]
    buyer.acknowledge(*responses)


@pytest.mark.req("K1")
def test_the_consumer_replies_tries_again_and_goes_on(network: Served, buyer: Client, seller: Client) -> None:
    """One message fails at first, one is a request, one a notification: all are settled in the end."""
    failures = iter([ValueError("not today")])
    handled: list[str] = []

    def work(item: Delivered) -> str:
        text = text_of(item)
        if text == "difficult" and (error := next(failures, None)):
            raise error
        handled.append(text)
        if len(handled) == 3:
            seller.stop()
        return f"done: {text}"

    posted = buyer.post(to=SELLER, type="request", document="question")
    buyer.post_many([message(to=SELLER, document=text) for text in ("difficult", "easy")])
    assert seller.handle(work, wait_s=30) == 4
    assert handled == ["question", "easy", "difficult"]
    [response] = buyer.poll(wait_s=10, select=Selector(transaction=posted.transaction))
    assert text_of(response) == "done: question"
    buyer.acknowledge(response)
    assert seller.poll() == []


@pytest.mark.req("K1")
async def test_an_asynchronous_consumer_in_transit_changes_the_message(network: Served, seller: Client) -> None:
    async with (
        AsyncClient(access=network.access(BUYER)) as sender,
        AsyncClient(access=network.access(STAMPER)) as stamper,
    ):

        async def stamp(item: Delivered) -> str:
            assert item.in_transit
            stamper.stop()
            return text_of(item) + " (stamped)"

        await sender.post(to=SELLER, route=STAMPER, document="letter")
        assert await stamper.handle(stamp, wait_s=10) == 1
    [letter] = seller.poll(wait_s=10)
    assert text_of(letter) == "letter (stamped)"
    seller.acknowledge(letter)


def test_a_consumer_in_a_thread_is_stopped_by_a_call(network: Served) -> None:
    with network.client(STAMPER) as client:
        results: list[int] = []
        thread = threading.Thread(target=lambda: results.append(client.handle(lambda item: None, wait_s=1)))
        thread.start()
        client.stop()  # perhaps before the thread has begun
        thread.join(10)
        assert results == [0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_waiting_consumer_stops_at_once_and_cleanly_on_a_signal(network: Served, number: signal.Signals) -> None:
    environment = clean_environment() | {
        "POSTROAD_URL": network.url,
        "POSTROAD_KEY_FILE": str(network.key(STAMPER)),
        "PYTHONUNBUFFERED": "1",
    }
    program = (
        "import sys\nfrom postroad.client import Client\n"
        "with Client() as network:\n"
        "    print('ready')\n"
        "    print(network.handle(lambda message: print('got one'), wait_s=60))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with network.client(BUYER) as client:
        client.post(to=STAMPER, document="wake up")
    assert process.stdout.readline() == "got one\n"
    process.send_signal(number)
    assert process.wait(60) == 0
    assert process.stdout.read() == "1\n"
    process.stdout.close()


def test_refusals_and_outages_are_told_apart(network: Served, buyer: Client) -> None:
    with pytest.raises(Refused) as refused:
        buyer.post(to="Acme/Nothing", document="x")
    assert (refused.value.code, bool(refused.value.session)) == ("recipient.unknown", True)
    with Client(network.url, "pr_wrong") as stranger, pytest.raises(Refused, match=r"authentication\.required"):
        stranger.poll()
    with (
        Client("http://127.0.0.1:1", "x", retrying=Retrying(tries=2, first_s=0.01)) as nowhere,
        pytest.raises(
            Unavailable, match=r"network\.unreachable: No response from http://127\.0\.0\.1:1 \(connection refused\)"
        ),
    ):
        nowhere.poll()


@pytest.mark.req("K1", "N13")
def test_configuration_through_the_sdk(network: Served) -> None:
    operator = Access.with_key(network.url, (network.data / "operator.key").read_text().strip())
    with Client(access=operator) as client:
        document = client.export()
        assert client.plan(document).steps == ()
        document["organizations"]["NewCo"] = {"services": {"Desk": {"description": "new"}}}
        plan = client.plan(document)
        assert [(step.action, step.kind, step.name) for step in plan.steps] == [
            ("add", "organization", "NewCo"),
            ("add", "service", "NewCo/Desk"),
        ]
        client.apply(document, version=plan.version)
        assert client.plan(document).steps == ()
        with pytest.raises(Refused, match=r"version\.conflict"):
            client.apply(document | {"organizations": {"Other": {}}}, version=plan.version)
        with pytest.raises(Refused) as faulty:
            client.plan({"postroad": 1, "organizations": {"A": {"colour": 1}, "B": {"services": {"x": {"format": 3}}}}})
        assert "/organizations/A/colour" in faulty.value.detail
        assert "/organizations/B/services/x/format" in faulty.value.detail


@pytest.mark.req("K1")
def test_a_client_outlives_the_server(tmp_path: Path) -> None:
    """Posting goes on across a kill -9 and a restart: every message is accepted and arrives once."""
    with served(tmp_path / "data") as running:
        running.register(BUYER, SELLER)
        with running.client(BUYER, retrying=PATIENT) as sender:
            accepted: list[str] = []
            texts = [f"{number}" for number in range(60)]

            def post_all() -> None:
                for text in texts:
                    accepted.append(sender.post(to=SELLER, document=text).session)  # noqa: PERF401 - is counted meanwhile

            poster = threading.Thread(target=post_all)
            poster.start()
            eventually(lambda: len(accepted) >= 10)
            running.end(signal.SIGKILL)
            running.start()
            poster.join(200)
            assert len(accepted) == 60
        with running.client(SELLER) as receiver:
            received = receiver.poll(100, wait_s=30)
            assert [text_of(item) for item in received] == texts
            assert [item.session for item in received] == accepted


@pytest.mark.docs
def test_the_consumer_of_the_documentation_is_the_example() -> None:
    page = (EXAMPLES.parent / "docs" / "howto" / "write-a-consumer.md").read_text()
    program = (EXAMPLES / "hello" / "receiver.py").read_text().partition('"""\n\n')[2]
    assert f"```python\n{program}```" in page
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
