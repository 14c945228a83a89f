"""Guessing is slowed, from one address and from many; whoever is right is heard all the same."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator

import pytest

from postroad.core.identity import api_key
from postroad.core.model.directory import Credential, CredentialKind, Person
from postroad.errors import Refused
from postroad.flow.access import throttle
from postroad.flow.access.authenticate import Proof
from postroad.flow.access.throttle import ACCOUNT_FREE_FAILURES, FIRST_TRY_S, FREE_FAILURES, Throttle, normalize_peer
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

HOME = "198.51.100.7"
ANN = "ann@mybiz.example"
PASSWORD = "correct horse battery"


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def now_us(self) -> int:
        return int(self.now * 1_000_000)


def addresses() -> Iterator[str]:
    return (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}" for number in range(1 << 24))


def guarded(watch: Watch, account: str = ANN) -> Throttle:
    """A throttle after a distributed guesser was at the account."""
    made = Throttle(watch)
    for peer in (f"192.0.2.{number}" for number in range(ACCOUNT_FREE_FAILURES)):
        assert made.wait_s(peer, account) == 0
        made.record_failure(peer, account)
    return made


@pytest.mark.req("Z6")
def test_a_peer_waits_twice_as_long_with_each_failure() -> None:
    watch = Watch()
    made = Throttle(watch)
    for number in range(FREE_FAILURES):
        assert made.wait_s(HOME, f"account {number}") == 0
        made.record_failure(HOME, f"account {number}")
    waits = []
    for number in range(6):
        with pytest.raises(Refused) as refused:
            made.wait_s(HOME, f"another {number}")
        assert refused.value.code == "authentication.throttled"
        waits.append(refused.value.retry_after_s)
        watch.now += refused.value.retry_after_s
        made.record_failure(HOME, f"another {number}")
    assert waits == [1, 2, 4, 8, 16, 32]


@pytest.mark.req("Z6")
def test_each_guess_at_a_guarded_account_costs_another_address() -> None:
    """However many guess: an address has one guess, and then a long wait that doubles."""
    watch = Watch()
    made = guarded(watch)
    heard = 0
    for _ in range(900):  # a quarter of an hour, 50 addresses that never rest
        for peer in (f"203.0.113.{number}" for number in range(50)):
            try:
                made.wait_s(peer, ANN)
            except Refused:
                continue
            heard += 1
            made.record_failure(peer, ANN)
        watch.now += 1
    assert 50 <= heard <= 50 * 6


@pytest.mark.req("Z6")
def test_the_right_one_is_heard_while_others_guess() -> None:
    watch = Watch()
    made = guarded(watch)
    assert made.wait_s(HOME, ANN) == FIRST_TRY_S  # from a new address: after a moment
    made.record_success(HOME, ANN)
    for peer, _ in zip(addresses(), range(1_000), strict=False):
        made.record_failure(peer, ANN)
    assert made.wait_s(HOME, ANN) == 0  # from one that is known: at once
    assert made.wait_s(HOME, "somebody else") == 0


@pytest.mark.req("Z6")
def test_names_that_do_not_exist_are_guarded_alike() -> None:
    watch = Watch()
    assert guarded(watch, "nobody").wait_s(HOME, "nobody") == guarded(watch).wait_s(HOME, ANN)


def test_a_guard_ends_when_nobody_guesses_any_more() -> None:
    watch = Watch()
    made = guarded(watch)
    watch.now += throttle.FORGET_S
    assert made.wait_s(HOME, ANN) == 0


@pytest.mark.req("Z6")
def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "MAX_REMEMBERED", 100)
    made = Throttle(Watch())
    for number, peer in zip(range(5_000), addresses(), strict=False):
        made.record_failure(peer, f"account {number}")
        made.record_success(peer + "x", f"account {number}")
    assert made.remembered <= 400


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("not:an:address", "not:an:address"),
        ("", ""),
    ],
)
def test_an_ipv6_subscriber_counts_as_one(peer: str, expected: str) -> None:
    assert normalize_peer(peer) == expected


# --- the same through the authenticator -----------------------------------------------------------------------------


def basic(name: str, password: str) -> Proof:
    return Proof(b"Basic " + base64.b64encode(f"{name}:{password}".encode()))


@pytest.fixture
async def running(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryNetwork]:
    monkeypatch.setattr(throttle, "FIRST_TRY_S", 0.01)
    async with memory_network() as network:
        hashed = await network.passwords.hash(PASSWORD)
        person = Person(email=ANN, organization="MyBiz")
        credential = Credential(id="p", kind=CredentialKind.PASSWORD, secret=hashed, person=ANN)
        await network.network.configuration.change("test", [build_save(person), build_save(credential)])
        yield network


async def outcome(running: MemoryNetwork, proof: Proof, peer: str) -> str:
    try:
        return (await running.authenticator.authenticate(proof, peer)).name
    except Refused as refusal:
        return refusal.code


@pytest.mark.req("Z6")
async def test_a_distributed_guesser_does_not_lock_a_person_out(running: MemoryNetwork) -> None:
    peers = [peer for peer, _ in zip(addresses(), range(100), strict=False)]
    for name in (ANN, ANN.upper()):  # however the name is written
        guesses = [outcome(running, basic(name, f"guess {peer}"), peer) for peer in peers[:50]]
        first = await asyncio.gather(*guesses)
        assert set(first) <= {"authentication.required", "authentication.throttled"}
    again = await asyncio.gather(*[outcome(running, basic(ANN, "another"), peer) for peer in peers[:50]])
    assert set(again) == {"authentication.throttled"}
    assert await outcome(running, basic(ANN, PASSWORD), HOME) == ANN


@pytest.mark.req("Z6")
async def test_guessers_at_a_key_do_not_lock_out_its_owner(running: MemoryNetwork) -> None:
    caller = await running.register("MyBiz/Purchasing")
    key = await running.key_for(caller)
    key_id = api_key.key_id(key) or ""
    guess = api_key.make(bytes.fromhex(key_id) + bytes(24)).text  # another secret under the same id
    assert api_key.key_id(guess) == key_id
    for peer, _ in zip(addresses(), range(60), strict=False):
        assert (await outcome(running, Proof(b"Bearer " + guess.encode()), peer)) == "authentication.required"
    assert (await outcome(running, Proof(b"Bearer " + guess.encode()), "10.0.0.0")) == "authentication.throttled"
    assert caller.service is not None
    assert await outcome(running, Proof(b"Bearer " + key.encode()), HOME) == caller.service.gcid


@pytest.mark.req("Z6")
async def test_many_guesses_at_once_are_no_way_round(running: MemoryNetwork) -> None:
    guesses = [outcome(running, basic(ANN, f"guess {number}"), HOME) for number in range(60)]
    codes = await asyncio.gather(*guesses)
    assert codes.count("authentication.required") <= FREE_FAILURES + 2


@pytest.mark.req("Z6")
async def test_remembered_credentials_do_not_bypass_the_throttle(running: MemoryNetwork) -> None:
    """While the owner is at work her password is remembered; whoever has to wait must not learn that they hold it."""
    assert await outcome(running, basic(ANN, PASSWORD), HOME) == ANN
    for peer in ("203.0.113.9", HOME):  # from elsewhere, and from her own address
        codes = [await outcome(running, basic(ANN, f"guess {number}"), peer) for number in range(FREE_FAILURES + 2)]
        assert codes[-1] == "authentication.throttled"
        assert await outcome(running, basic(ANN, PASSWORD), peer) == "authentication.throttled"


@pytest.mark.req("Z6")
async def test_a_known_caller_is_accepted_despite_failures_from_the_same_address(running: MemoryNetwork) -> None:
    key = Proof(b"Bearer " + (await running.key_for(await running.register("MyBiz/Purchasing"))).encode())
    right = [basic(ANN, PASSWORD), key]
    names = [await outcome(running, proof, HOME) for proof in right]
    for number in range(FREE_FAILURES + 2):
        await outcome(running, basic("bob@mybiz.example", f"guess {number}"), HOME)
    assert await outcome(running, basic("bob@mybiz.example", "another"), HOME) == "authentication.throttled"
    running.authenticator._remembered.clear()  # so that they have to prove themselves again
    assert [await outcome(running, proof, HOME) for proof in right] == names


@pytest.mark.req("Z6")
def test_a_success_of_ones_own_buys_no_guesses_at_others() -> None:
    made = Throttle(Watch())
    heard = 0
    for number in range(200):
        made.record_success(HOME, "the guesser's own")
        try:
            made.wait_s(HOME, f"victim {number}")
        except Refused:
            continue
        heard += 1
        made.record_failure(HOME, f"victim {number}")
    assert heard == FREE_FAILURES


@pytest.mark.req("Z6")
def test_a_successful_login_resets_the_failure_count() -> None:
    made = Throttle(Watch())
    for number in range(5 * FREE_FAILURES):
        assert made.wait_s(HOME, f"person {number}") == 0
        made.record_failure(HOME, f"person {number}")
        made.record_success(HOME, f"person {number}")


@pytest.mark.req("Z6")
async def test_many_logins_at_once_cost_one_hash(running: MemoryNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    verified = []
    verify = running.passwords.verify

    async def counted(password: str, hashed: str | None) -> bool:
        verified.append(password)
        return await verify(password, hashed)

    monkeypatch.setattr(running.passwords, "verify", counted)
    names = await asyncio.gather(*[outcome(running, basic(ANN, PASSWORD), HOME) for _ in range(50)])
    assert set(names) == {ANN}
    assert len(verified) <= 2


async def test_turns_remember_nobody_afterwards() -> None:
    turns = KeyedSemaphore(at_once=2)
    at_work, most = 0, 0

    async def work() -> None:
        nonlocal at_work, most
        async with turns.slot(HOME):
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(0)
            at_work -= 1

    await asyncio.gather(*[work() for _ in range(20)])
    assert (most, len(turns)) == (2, 0)
