"""A hundred purchase orders a day become one X12 interchange each evening, over AS2; the partner's 997 comes back.

python examples/evening-orders/play.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from office_clock import OfficeClock
from two_networks import PartnerNetwork, running

from postroad.client import Client, Part, Received

HERE = Path(__file__).parent
POSTROAD = [sys.executable, "-c", "from postroad.cli.main import main; main()"]
ORDERS_A_DAY = 100
PATIENCE_S = 60.0


def order(number: int, day: datetime) -> str:
    """A purchase order as a ready transaction set; the envelope around it is the send port's."""
    segments = [
        f"ST*850*{number:04}",
        f"BEG*00*SA*PO-{number}**{day:%Y%m%d}",
        f"N1*ST*Shop {number % 7 + 1}",
        f"PO1*1*{number % 5 + 1}*EA*{9 + number % 10}.25**BP*CHAIR",
        "CTT*1",
        f"SE*6*{number:04}",
    ]
    return "".join(segment + "~" for segment in segments)


def postroad(*arguments: str | Path) -> str:
    """Run the command line."""
    done = subprocess.run([*POSTROAD, *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


def make_keys(folder: Path) -> None:
    """Each partner makes a key, and gives the certificate to the other."""
    for partner, name in (("MyBiz", "MYBIZ"), ("Acme", "ACME")):
        key = folder / partner.lower() / "push-secrets" / partner / "as2.pem"
        (folder / f"{partner.lower()}.crt").write_text(postroad("as2", "key", name, "--out", key))


def agree(folder: Path, partners: dict[str, PartnerNetwork]) -> None:
    """Each partner writes down what was agreed on, with the address of the other."""
    addresses = {"http://127.0.0.1:8491": partners["mybiz"].url, "http://127.0.0.1:8492": partners["acme"].url}
    for name, partner in partners.items():
        text = (HERE / f"{name}.yaml").read_text()
        for here, there in addresses.items():
            text = text.replace(here, there)
        (folder / f"{name}.yaml").write_text(text)
        postroad("apply", folder / f"{name}.yaml", "--yes", "--make-keys", "--data", partner.data)


def until(found: Callable[[], Any]) -> Any:
    """What is found, as soon as there is something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := found()):
        if time.monotonic() > deadline:
            raise RuntimeError("it did not happen in time")
        time.sleep(0.05)
    return value


class Play:
    def __init__(self, clock: OfficeClock, mybiz: PartnerNetwork, shops: Client, supply: Client) -> None:
        self.clock = clock
        self.mybiz = mybiz
        self.shops = shops
        self.supply = supply
        self.posted = 0

    def day(self, day: datetime) -> None:
        """Orders through the day, the last of them a moment before six; then the evening comes."""
        self.clock.set(day.replace(hour=9))
        first = self.posted + 1
        session = ""
        for place in range(ORDERS_A_DAY):
            self.clock.set(day.replace(hour=9) + timedelta(minutes=5) * place)
            if place == ORDERS_A_DAY - 1:
                self.say_what_waits()
                self.clock.set(day.replace(hour=17, minute=59, second=58))
            self.posted += 1
            document = Part(id="1", content_type="application/edi-x12", data=order(self.posted, day).encode())
            session = self.shops.post(to="MyBiz/to-acme", document=document).session
        arrived = self.take(ORDERS_A_DAY)
        if list(map(_text, arrived)) != [order(number, day) for number in range(first, self.posted + 1)]:
            raise RuntimeError("Acme did not get the orders that the shops posted")
        self.say_what_came(session, arrived)

    def say_what_waits(self) -> None:
        with self.mybiz.operator() as owner:
            [batch] = until(lambda: [one for one in owner.batches.list() if one["members"] == ORDERS_A_DAY - 1])
        goes = datetime.fromisoformat(batch["nearest"]["at"]).astimezone(self.clock.now().tzinfo)
        self.say(f"{batch['members']} orders wait; they go at {goes:%H:%M}")

    def take(self, count: int) -> list[Received]:
        """Acme's application takes the orders, one message each."""
        taken: list[Received] = []
        while len(taken) < count:
            some = self.supply.poll(100, wait_s=PATIENCE_S)
            if not some:
                raise RuntimeError(f"only {len(taken)} of {count} orders came")
            self.supply.acknowledge(*some)
            taken += some
        return taken

    def say_what_came(self, session: str, arrived: list[Received]) -> None:
        told = {one.name: one.value for one in arrived[0].properties}
        self.say(f"interchange {told['interchange.reference']} is at Acme, by AS2")
        self.say(f"Acme/Supply has {len(arrived)} orders, PO-{_number(arrived[0])} to PO-{_number(arrived[-1])}")
        with self.mybiz.operator() as owner:
            batch = until(lambda: self.answered(owner))
        [answer] = batch["answers"]
        self.say(f"the 997 is back: {answer['verdict']}; the batch of {batch['members']} orders is {batch['state']}")
        self.say_what_the_shop_knows(session)

    def answered(self, owner: Client) -> dict[str, Any] | None:
        """The newest batch, once it is sent and the partner has told what it says of it."""
        newest = owner.batches.batch(owner.batches.list("MyBiz/to-acme", "all")[0]["id"])
        return newest if newest["answers"] and newest["state"] == "sent" else None

    def say_what_the_shop_knows(self, session: str) -> None:
        [copy] = self.shops.trace(session).messages[0].copies
        self.say(f"the shop sees that its order PO-{self.posted} is {copy.state}")

    def say(self, text: str) -> None:
        print(f"{self.clock.now():%A %H:%M}".ljust(15) + text)


def _text(received: Received) -> str:
    return bytes(received.parts[0].data).decode()


def _number(received: Received) -> str:
    return _text(received).partition("PO-")[2].partition("*")[0]


def play(stack: ExitStack, days: int = 2) -> None:
    folder = Path(stack.enter_context(TemporaryDirectory()))
    clock = OfficeClock()
    make_keys(folder)
    partners = stack.enter_context(running(folder, ("mybiz", "acme"), clock))
    agree(folder, partners)
    shops = stack.enter_context(partners["mybiz"].client(folder / "shops.key"))
    supply = stack.enter_context(partners["acme"].client(folder / "supply.key"))
    monday = clock.next_monday()
    played = Play(clock, partners["mybiz"], shops, supply)
    for day in range(days):
        played.day(monday + timedelta(days=day))


if __name__ == "__main__":
    with ExitStack() as everything:
        play(everything)
