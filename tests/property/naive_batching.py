"""What batching should do, found by looking at every open batch every second; slow and plain."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class NaiveMessage:
    number: int
    second: int
    size: int
    kind: str
    group: str = ""
    last: bool = False
    named: str = ""
    starts: bool = False
    ends: bool = False


@dataclass(kw_only=True)
class NaiveRules:
    count: int = 0
    size: int = 0
    age: int = 0
    idle: int = 0
    minutes: int = 0  # a schedule: every so many minutes
    apart: bool = False
    in_turn: bool = False
    end_within: int = 0


@dataclass(kw_only=True)
class NaiveBatch:
    members: list[NaiveMessage] = field(default_factory=list)
    closed_at: int = -1
    closed_by: str = ""


class NaiveBatcher:
    def __init__(self, rules: NaiveRules) -> None:
        self.rules = rules
        self.open: dict[str, NaiveBatch] = {}
        self.closed: list[NaiveBatch] = []

    def run(self, messages: list[NaiveMessage], until: int) -> list[NaiveBatch]:
        for second in range(until + 1):
            for key in list(self.open):
                self.look(key, second)
            for message in messages:
                if message.second == second:
                    self.take(message)
        return self.closed

    def look(self, key: str, now: int) -> None:
        members, rules = self.open[key].members, self.rules
        since_first, since_latest = now - members[0].second, now - members[-1].second
        if key.startswith("named "):
            if since_first == rules.end_within:
                self.close(key, now, "unfinished")
        elif rules.age and since_first == rules.age:
            self.close(key, now, "age")
        elif rules.idle and since_latest == rules.idle:
            self.close(key, now, "idle")
        elif rules.minutes and since_first > 0 and now % (rules.minutes * 60) == 0:
            self.close(key, now, "schedule")

    def take(self, message: NaiveMessage) -> None:
        if message.named:
            self.take_named(message)
            return
        key, rules = f"group {message.group} {message.kind if self.rules.apart else ''}", self.rules
        batch = self.open.get(key)
        if batch and rules.in_turn and batch.members[-1].kind != message.kind:
            self.close(key, message.second, "type")
        elif batch and rules.size and sum(member.size for member in batch.members) + message.size > rules.size:
            self.close(key, message.second, "bytes")
        members = self.open.setdefault(key, NaiveBatch()).members
        members.append(message)
        if message.last:
            self.close(key, message.second, "condition")
        elif rules.count and len(members) == rules.count:
            self.close(key, message.second, "count")
        elif rules.size and sum(member.size for member in members) >= rules.size:
            self.close(key, message.second, "bytes")

    def take_named(self, message: NaiveMessage) -> None:
        key = f"named {message.named}"
        batch = self.open.get(key)
        if batch and message.starts and any(member.starts for member in batch.members):
            self.close(key, message.second, "unfinished")
        self.open.setdefault(key, NaiveBatch()).members.append(message)
        if message.ends:
            self.close(key, message.second, "end")

    def close(self, key: str, now: int, why: str) -> None:
        batch = self.open.pop(key)
        batch.closed_at, batch.closed_by = now, why
        self.closed.append(batch)
