"""Purchase orders of 3 KB and bindings for them: eight shapes that repeat, and shapes drawn at random."""

from __future__ import annotations

import random
from typing import Any

COUNTRIES = [f"{first}{second}" for first in "ABCDEFGHIJKLMNOPQRST" for second in "ABCDEFGHIJ"]
CUSTOMERS, PARTS, CITIES, REGIONS = 5_000, 20_000, 500, 1_000
PRIORITIES = ("low", "normal", "high", "urgent")
SEGMENTS = ("retail", "wholesale", "public", "school")
WORDS = (
    "steel",
    "bolt",
    "widget",
    "flange",
    "rotor",
    "valve",
    "copper",
    "panel",
    "switch",
    "relay",
    "cable",
    "gasket",
    "motor",
)
ORDER_BYTES = 3_000

FIELDS = (
    "customer/@id",
    "shipTo/@country",
    "billTo/zip",
    "@priority",
    "customer/segment",
    "shipTo/city",
    "total",
    "@id",
)


def root(kind: int) -> str:
    """The root element of the kind: the first is the plain order."""
    return f"order{kind or ''}"


def order(draw: random.Random, kind: int = 0) -> bytes:
    name = root(kind)
    head = (
        f'<{name} id="PO{draw.randrange(10**6):06d}" priority="{draw.choice(PRIORITIES)}">\n'
        f'  <customer id="C{draw.randrange(CUSTOMERS):05d}"><segment>{draw.choice(SEGMENTS)}</segment></customer>\n'
        f"  {_address(draw, 'shipTo')}\n  {_address(draw, 'billTo')}\n"
        f"  <comment>Please deliver {draw.choice(WORDS)} to dock {draw.randrange(40)}</comment>\n  <items>\n"
    )
    tail = f'  </items>\n  <total currency="EUR">{draw.randrange(100, 10**6) / 100:.2f}</total>\n</{name}>\n'
    lines: list[str] = []
    while sum(map(len, lines)) + len(head) + len(tail) < ORDER_BYTES:
        lines.append(_line(draw, len(lines) + 1))
    return (head + "".join(lines) + tail).encode()


def _address(draw: random.Random, name: str) -> str:
    return (
        f'<{name} country="{draw.choice(COUNTRIES)}"><street>{draw.randrange(1, 999)} Main Street</street>'
        f"<city>City{draw.randrange(CITIES)}</city><zip>{draw.randrange(10_000, 99_999)}</zip></{name}>"
    )


def _line(draw: random.Random, number: int) -> str:
    return (
        f'    <item partNum="SKU-{draw.randrange(PARTS):05d}" line="{number}"><name>{draw.choice(WORDS)}</name>'
        f"<quantity>{draw.randrange(1, 500)}</quantity><price>{draw.randrange(100, 100_000) / 100:.2f}</price>"
        f"<shipDate>2026-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}</shipDate></item>\n"
    )


def header(draw: random.Random) -> dict[str, Any]:
    return {"region": f"R{draw.randrange(REGIONS)}", "weight": draw.randrange(10_000)}


def repeating(draw: random.Random) -> str:
    """One of eight shapes, each with about one chance in a thousand to be met."""
    low = draw.randrange(1_000, 8_000)
    customer, country = f"C{draw.randrange(CUSTOMERS):05d}", draw.choice(COUNTRIES)
    return draw.choice(
        [
            f"/order/customer/@id = '{customer}'",
            f"//item/@partNum = 'SKU-{draw.randrange(PARTS):05d}'",
            f"/order/shipTo/@country = '{country}' and /order/total > {low} and /order/total < {low + 2_000}",
            f"/order/*/city = 'City{draw.randrange(CITIES)}' and /order/@priority = '{draw.choice(PRIORITIES)}'",
            f"$region = 'R{draw.randrange(REGIONS)}' and not(/order/customer/segment = '{draw.choice(SEGMENTS)}')",
            f"starts-with(/order/@id, 'PO{draw.randrange(1_000):03d}')",
            f"contains(/order/comment, 'deliver {draw.choice(WORDS)}') and //billTo/@country = '{country}'",
            f"/order/customer/@id = '{customer}' or (/order/billTo/zip = '{draw.randrange(10_000, 99_999)}' and $weight > {low})",
        ]
    )


def drawn(draw: random.Random, kinds: int) -> str:
    """One to three fields of one kind of document, compared in one way or another; one is always selective."""
    name = root(draw.randrange(kinds))
    parts = [f"/{name}/customer/@id = 'C{draw.randrange(CUSTOMERS):05d}'"]
    parts += [f"/{name}/{_tested(draw, field)}" for field in draw.sample(FIELDS[1:], draw.randrange(3))]
    draw.shuffle(parts)
    return " and ".join(parts)


def _tested(draw: random.Random, field: str) -> str:
    if field == "total":
        return f"total {draw.choice(['<', '>', '<=', '>='])} {draw.randrange(100, 9_000)}"
    sign = draw.choice(["=", "!=", "="])
    values = {"@priority": PRIORITIES, "customer/segment": SEGMENTS, "shipTo/@country": COUNTRIES}
    return f"{field} {sign} '{draw.choice(values.get(field, [f'City{draw.randrange(CITIES)}']))}'"
