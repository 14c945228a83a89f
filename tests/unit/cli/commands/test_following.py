"""Following lists that begin with the newest: everything once, and again only when its state changes."""

from __future__ import annotations

from typing import Any

from postroad.cli.commands.messages.tail import MAX_PAGES, PAGE, MessageFollower


class Lists:
    """A network's answers: the newest first, in pages."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.asked = 0

    def post(self, number: int, state: str = "queued") -> None:
        line = {"session": f"s{number}", "box": "received", "at": f"{number:06d}", "from": "A/B", "state": state}
        self.items = [line, *(item for item in self.items if item["session"] != f"s{number}")]
        self.items.sort(key=lambda item: str(item["at"]), reverse=True)

    def get(self, path: str, *, cursor: str, limit: int, **query: str) -> Any:
        self.asked += 1
        start = int(cursor or 0)
        rest = len(self.items) > start + limit
        return {"items": self.items[start : start + limit], "next": str(start + limit) if rest else None}


def following(lists: Lists, last: int = 10) -> MessageFollower:
    return MessageFollower(lists, ("received",), service="", topic="", last=last)  # type: ignore[arg-type]


def sessions(follower: MessageFollower) -> list[str]:
    return [seen.session for seen in follower.list_changes()]


def test_the_first_look_tells_the_last_few_and_the_next_ones_only_news() -> None:
    lists = Lists()
    for number in range(30):
        lists.post(number)
    follower = following(lists, last=3)
    assert sessions(follower) == ["s27", "s28", "s29"]
    assert sessions(follower) == []
    lists.post(30)
    lists.post(31)
    assert sessions(follower) == ["s30", "s31"]


def test_nothing_of_the_past_when_so_wished() -> None:
    lists = Lists()
    lists.post(1)
    follower = following(lists, last=0)
    assert sessions(follower) == []
    lists.post(2)
    assert sessions(follower) == ["s2"]


def test_a_changed_state_is_told_again() -> None:
    lists = Lists()
    lists.post(1)
    lists.post(2)
    follower = following(lists)
    assert sessions(follower) == ["s1", "s2"]
    lists.post(1, "delivered")
    assert [(seen.session, seen.state) for seen in follower.list_changes()] == [("s1", "delivered")]


def test_more_news_than_one_page_holds_is_told_whole() -> None:
    lists = Lists()
    lists.post(0)
    follower = following(lists)
    follower.list_changes()
    for number in range(1, 2 * PAGE + 5):
        lists.post(number)
    assert sessions(follower) == [f"s{number}" for number in range(1, 2 * PAGE + 5)]


def test_the_past_is_told_as_far_as_it_was_asked_for() -> None:
    lists = Lists()
    for number in range(5 * PAGE):
        lists.post(number)
    follower = following(lists, last=3 * PAGE)
    assert sessions(follower) == [f"s{number}" for number in range(2 * PAGE, 5 * PAGE)]
    assert not follower.missed


def test_who_cannot_keep_up_says_so() -> None:
    lists = Lists()
    lists.post(0)
    follower = following(lists)
    follower.list_changes()
    for number in range(1, MAX_PAGES * PAGE + 2):
        lists.post(number)
    assert (len(follower.list_changes()), follower.missed) == (MAX_PAGES * PAGE, True)
    assert (follower.list_changes(), follower.missed) == ([], False)
