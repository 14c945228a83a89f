"""How long it takes to find a message among many by what one knows of it.

    python -m benchmarks.finding [--posts 1000000] [--looks 200] [--index sqlite|postgres]

Makes an index of that many messages, each with a handle and two business keys: an order, which three messages share, and one of
a thousand customers. Then asks it what the console asks for a value that someone types: which messages are known by it, and of
each of the first 50 what its page needs to know that it may be shown. Values are chosen again for every look, all over the index.
Ends with 1 when any look took a second. Ten million messages take about 6 GB in a temporary folder, and some minutes to make.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

from msgspec.structs import replace

from benchmarks.indexing import opened
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.projection.project import project
from postroad.core.projection.queries import MESSAGE
from postroad.core.projection.search_keys import matching_search_keys, search_key_hash
from postroad.flow.administration.messages.message_list import NEWEST
from postroad.flow.administration.messages.search import MAX_FOUND
from postroad.flow.administration.messages.search_candidates import PORTION
from postroad.ports import Index, JournalHead
from postroad.testing.random_journals.journals import make_plain_posts, to_records

GROUP = 20_000
SERVICES = 500
LONGEST_S = 1.0
CUSTOMERS = 1_000
OF_TRANSACTIONS = (
    "transaction_messages", "transaction_contents", "transaction_deliveries", "transaction_trail", "transaction_journeys",
)  # fmt: skip


def posts(first_seq: int, count: int) -> Iterator[MessagePosted]:
    for seq, post in enumerate(make_plain_posts(count, first_seq, SERVICES), first_seq):
        yield replace(post, search_keys=(("order", f"PO-{seq // 3}"), ("customer", f"C{seq % CUSTOMERS:05d}")))


async def filled(index: Index, count: int) -> None:
    for first_seq in range(1, count + 1, GROUP):
        records = to_records(list(posts(first_seq, min(GROUP, count + 1 - first_seq))), first_seq)
        await index.apply(project(records), JournalHead(records[-1].seq, bytes(32)))


async def look(index: Index, value: str) -> int:
    """Everything that is asked for a value; how many messages were found."""
    rows = await index.query("found", search_key_hash(value), NEWEST, PORTION)
    known = [session for _, session, header in rows if header and matching_search_keys(_entry(header), value)]
    for session in known[:MAX_FOUND]:
        [message] = await index.query("message", session)
        for question in OF_TRANSACTIONS:
            await index.query(question, message[MESSAGE.index("transaction_id")])
    return len(known)


def _entry(header: bytes) -> MessagePosted:
    entry = decode(header)
    if not isinstance(entry, MessagePosted):
        raise TypeError("not the header of a post")
    return entry


Values = Callable[[random.Random, int], str]
KINDS: dict[str, tuple[Values, int]] = {
    "handle": (lambda chance, count: f"ORDER-{chance.randrange(1, count + 1)}", 1),
    "order": (lambda chance, count: f"po-{chance.randrange(2, count // 3)}", 3),
    "customer": (lambda chance, count: f"c{chance.randrange(CUSTOMERS):05d}", PORTION),
    "nothing": (lambda chance, count: f"NO-{chance.random()}", 0),
}


async def measured(index: Index, kind: str, count: int, looks: int) -> list[float]:
    chance, (value, hits), took = random.Random(4711), KINDS[kind], []
    for _ in range(looks):
        began = time.perf_counter()
        found = await look(index, value(chance, count))
        took.append(time.perf_counter() - began)
        if found != min(hits, count // CUSTOMERS):
            raise AssertionError(f"{found} messages were found by {kind}, and not {hits}")
    return sorted(took)


async def run(kind: str, count: int, looks: int) -> int:
    async with opened(kind) as (index, _):
        began = time.monotonic()
        await filled(index, count)
        print(f"{kind}: {count:,} messages, made in {time.monotonic() - began:,.0f} s; {looks} looks by each")
        longest = 0.0
        for name, (_, hits) in KINDS.items():
            took = await measured(index, name, count, looks)
            longest = max(longest, took[-1])
            p99 = took[min(len(took) - 1, round(len(took) * 0.99))]
            print(
                f"  {name:<9} {hits or 'no':>4} found   median {median(took) * 1000:7.1f} ms"
                f"   p99 {p99 * 1000:7.1f} ms   longest {took[-1] * 1000:7.1f} ms"
            )
    return int(longest >= LONGEST_S)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--posts", type=int, default=1_000_000, help="at least 3,000")
    arguments.add_argument("--looks", type=int, default=200)
    arguments.add_argument("--index", choices=["sqlite", "postgres"], default="sqlite")
    chosen = arguments.parse_args()
    return asyncio.run(run(chosen.index, chosen.posts, chosen.looks))


if __name__ == "__main__":
    sys.exit(main())
