"""Which organization has the most waiting bytes, at every moment."""

from __future__ import annotations

from random import Random

from postroad.adapters.desk.group_commit import WaitingShares


def test_the_only_organization_is_the_largest() -> None:
    shares = WaitingShares()
    assert shares.would_be_largest("Acme", 1)
    shares.add("Acme", 10)
    assert shares.would_be_largest("Acme", 1)
    assert not shares.would_be_largest("Village", 5)
    assert shares.would_be_largest("Village", 10)


def test_it_agrees_with_a_search_after_random_changes() -> None:
    chance, shares, waiting = Random(17), WaitingShares(), dict.fromkeys("abcde", 0)
    submitted: list[tuple[str, int]] = []
    for _ in range(5_000):
        if submitted and chance.random() < 0.5:
            name, size = submitted.pop(0)
            shares.remove(name, size)
            waiting[name] -= size
        else:
            name, size = chance.choice("abcde"), chance.randrange(1, 1_000)
            submitted.append((name, size))
            shares.add(name, size)
            waiting[name] += size
        asked, more = chance.choice("abcde"), chance.randrange(1_000)
        assert shares.of(asked) == waiting[asked]
        assert shares.would_be_largest(asked, more) == (waiting[asked] + more >= max(waiting.values()))
