"""A push URL cannot be turned against the network's own hosts, however it is spelt and whatever its name server says."""

from __future__ import annotations

import asyncio

import pytest

from postroad.adapters.system import SystemClock
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.resolver import SystemResolver
from postroad.core.delivery.push_request import PushRequest
from tests.samples.receivers import NAME, OK, Answers, answering, pusher, receiving, to
from tests.waiting import forever

# Spellings of loopback, with {port} where a server waits that must not be reached.
LOOPBACK = [
    "http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://LOCALHOST:{port}/", "http://localhost.:{port}/",
    "http://2130706433:{port}/", "http://0x7f000001:{port}/", "http://0x7f.1:{port}/", "http://0X7F.0.0.1:{port}/",
    "http://0177.0.0.1:{port}/", "http://017700000001:{port}/", "http://127.1:{port}/", "http://127.0.1:{port}/",
    "http://127.0.0.1.:{port}/", "http://127.0.0.01:{port}/", "http://127.0.0.256:{port}/", "http://127.255.255.254:{port}/",
    "http://0.0.0.0:{port}/", "http://0:{port}/", "http://[::]:{port}/", "http://[::1]:{port}/", "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://[::127.0.0.1]:{port}/", "http://[::7f00:1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/", "http://[64:ff9b::127.0.0.1]:{port}/", "http://[64:ff9b:1::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/", "http://[2001:0:7f00:1::80ff:fffe]:{port}/", "http://[fe80::5efe:7f00:1]:{port}/",
    "http://[::1%25lo]:{port}/", "http://[::1%lo]:{port}/", "http://user:pw@127.0.0.1:{port}/",
    "http://example.com@127.0.0.1:{port}/", "http://example.com:80@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@example.com/",
    "http://example.com\\@127.0.0.1:{port}/", "http://127.0.0.1:{port}#@example.com/", "http:\\\\127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/", "http:///127.0.0.1:{port}/", "//127.0.0.1:{port}/", "127.0.0.1:{port}/",
    "http://127.0.0.1\u3002:{port}/", "http://127\u30020\u30020\u30021:{port}/", "http://\u2460\u2461\u2466.0.0.1:{port}/",
    "http://\uff11\uff12\uff17.0.0.1:{port}/", "http://loc\u0430lhost:{port}/", "http://\uff4cocalhost:{port}/", "http://loc\u00adalhost:{port}/",
    "http://%31%32%37.0.0.1:{port}/", "http://127.0.0.1%00.example.com:{port}/", "http://127.0.0.1%2f@example.com:{port}/",
    " http://127.0.0.1:{port}/", "http://127.0.0.1:{port} /", "ht\ntp://127.0.0.1:{port}/", "http://127.0.0.1\t:{port}/",
    "http://127.0.0.1:{port}/\r\nhost: example.com", "http://127.0.0.1:{port}/ HTTP/1.1\r\nx: y",
    "HTTP://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "https://localhost:{port}/", "https://[::ffff:127.0.0.1]:{port}/",
]  # fmt: skip
ELSEWHERE = [
    "https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://100.64.0.1/",
    "https://100.127.255.255/", "https://169.254.1.1/", "http://169.254.169.254/latest/meta-data/", "https://169.254.170.2/",
    "https://168.63.129.16/", "https://100.100.100.200/", "https://192.0.0.192/", "https://192.0.0.8/", "https://192.0.2.1/",
    "https://198.18.0.1/", "https://203.0.113.5/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/",
    "https://192.88.99.1/", "https://[fe80::1]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[fec0::1]/",
    "https://[ff02::1]/", "https://[2001:db8::1]/", "https://[2002:a00:1::]/", "https://[2001::1]/", "https://[64:ff9b::a00:1]/",
    "https://[64:ff9b::a9fe:a9fe]/", "https://[::ffff:10.0.0.1]/", "https://[::ffff:169.254.169.254]/", "https://[::10.0.0.1]/",
    "https://[100::1]/", "https://[5f00::1]/", "https://[4000::1]/", "https://[2001:4860::200:5efe:a00:1]/",
    "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "unix:/run/docker.sock", "", "https://", "https:///", "https://:443/",
    "https://host:0/", "https://host:65536/", "https://host:/", "https://-/", "https://a..b/", "https://.example.com/",
    "https://example.com../", "https://" + "a" * 64 + ".example/", "https://" + "a." * 127 + "example/", "https://[v1.a]/", "https://[::1/",
]  # fmt: skip


def refused(url: str) -> tuple[str, list[str]]:
    """Why the default settings do not let a push go there, and which addresses were tried all the same; none is reached."""
    tried: list[str] = []

    async def caught(protocol: object, host: str, *_: object, **__: object) -> None:
        tried.append(host)
        raise ConnectionRefusedError

    async def scenario() -> str:
        # If the check ever fails, this test must not be what speaks to a metadata service.
        asyncio.get_running_loop().create_connection = caught  # type: ignore[method-assign, assignment]
        out = HttpPusher(resolver=Answers(["127.0.0.1"]), clock=SystemClock(), permission=Permission.of((), ("*",)))
        answer = await out.push(PushRequest(url=url, headers={}, body=b"", timeout_s=5.0))
        await out.close()
        return answer.fault_text

    return asyncio.run(scenario()), tried


@pytest.mark.req("Z4")
@pytest.mark.parametrize("spelling", LOOPBACK, ids=ascii)
def test_no_spelling_of_loopback_is_reached(spelling: str) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK)) as secret:
            out = HttpPusher(resolver=SystemResolver(), clock=SystemClock(), permission=Permission.of((), ("*",)))
            url = spelling.replace("{port}", str(secret.port))
            told = await out.push(PushRequest(url=url, headers={}, body=b"", timeout_s=5.0))
            await out.close()
            await asyncio.sleep(0)
        assert (told.status, secret.connections) == (None, 0)
        assert "The push URL cannot be used" in told.fault_text or "cannot be pushed to" in told.fault_text

    asyncio.run(scenario())


@pytest.mark.req("Z4")
@pytest.mark.parametrize("url", ELSEWHERE, ids=ascii)
def test_no_other_address_that_is_not_public_is_tried(url: str) -> None:
    fault, tried = refused(url)
    assert tried == []
    assert "The push URL cannot be used" in fault or "cannot be pushed to" in fault


def test_a_public_address_is_tried() -> None:
    assert refused("https://[2606:4700::1111]/") == (
        "2606:4700::1111: nothing listens on that port",
        ["2606:4700::1111"],
    )


def test_the_same_spelling_reaches_the_server_once_it_is_allowed() -> None:
    """So the tests above fail for the reason they name, and not because nothing could be reached anyway."""

    async def scenario() -> None:
        async with receiving(answering(OK)) as receiver:
            out = pusher(allow=("127.0.0.0/8",))
            for host in ("127.0.0.1", "[::ffff:127.0.0.1]", NAME, NAME.upper() + "."):
                assert (await out.push(to(receiver, host=host))).status == 200, host
            await out.close()

    asyncio.run(scenario())


@pytest.mark.req("Z4")
def test_a_name_that_changes_its_mind_is_asked_once_and_taken_at_its_first_word() -> None:
    async def scenario() -> None:
        async with receiving(answering(OK), host="127.0.0.2") as good, receiving(answering(OK)) as secret:
            resolver = Answers(["127.0.0.2"], ["127.0.0.1"])
            out = pusher(resolver, allow=("127.0.0.2",))
            told = await out.push(to(good))
            assert (told.status, good.connections, resolver.asked) == (200, 1, [NAME])
            told = await out.push(to(secret))  # a new connection asks again, and is judged by the new answer
            assert (told.status, secret.connections, resolver.asked) == (None, 0, [NAME, NAME])
            await out.close()

    asyncio.run(scenario())


@pytest.mark.req("Z4")
@pytest.mark.parametrize("answer", [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["8.8.8.8", "::1"]])
def test_one_forbidden_address_condemns_the_name(answer: list[str]) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK)) as secret:
            resolver = Answers(answer)
            out = pusher(resolver, allow=("127.0.0.2",))
            told = await out.push(to(secret))
            assert (told.status, secret.connections, resolver.asked) == (None, 0, [NAME])
            assert not any(address in told.fault_text for address in answer), "the operator's network is not described"
            await out.close()

    asyncio.run(scenario())


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async def scenario() -> None:
        async with receiving(answering(OK)) as receiver:
            out = pusher(Answers(["127.0.0.3", "127.0.0.1"]))
            assert (await out.push(to(receiver))).status == 200
            await out.close()

    asyncio.run(scenario())


@pytest.mark.req("Z4")
def test_a_name_that_does_not_exist_is_refused_as_an_internal_one_is() -> None:
    """Else members could try out which names the operator's network has."""

    async def scenario() -> None:
        async with receiving(answering(OK)) as receiver:
            answers: tuple[list[str], ...] = ([], ["127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["8.8.8.8", "::1"])
            faults = [(await pusher(Answers(found), allow=()).push(to(receiver))).fault_text for found in answers]
            assert len(set(faults)) == 1
            assert "does not exist, or its address is not allowed" in faults[0]

    asyncio.run(scenario())


def test_a_silent_name_server_ends_at_the_deadline() -> None:
    class Silent(Answers):
        async def addresses(self, host: str) -> list[str]:
            await forever()
            return []

    async def scenario() -> None:
        async with receiving(answering(OK)) as receiver:
            told = await pusher(Silent([])).push(to(receiver, timeout_s=0.1))
            assert "name servers did not answer in time" in told.fault_text

    asyncio.run(scenario())


@pytest.mark.req("Z4")
def test_proxies_in_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK)) as proxy, receiving(answering(OK)) as receiver:
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            out = pusher()
            assert (await out.push(to(receiver))).status == 200
            assert (receiver.connections, proxy.connections) == (1, 0)
            await out.close()

    asyncio.run(scenario())


def test_cookies_are_neither_kept_nor_sent() -> None:
    cookie = OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n")

    async def scenario() -> None:
        async with receiving(answering(cookie, OK)) as receiver:
            out = pusher()
            await out.push(to(receiver))
            await out.push(to(receiver))
            assert b"cookie" not in receiver.requests[1].lower()
            assert (await out.push(to(receiver, headers={"Cookie": "a=b"}))).status is None
            await out.close()

    asyncio.run(scenario())
