"""Messages that fail, for tests of what people see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroad.client import Access, Client, Reply, Status
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.samples.counted import SESSION, Counted

PASSWORD = "a long sentence that nobody guesses"


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedOrders:
    """An organization with a person at a browser, and three services: of a buyer, a stamper on the way, and a seller."""

    demo: Demo
    name: str
    person: Person
    keys: dict[str, str]

    def client(self, service: str) -> Client:
        return Client(self.demo.url, self.keys[service])

    def send(self, topic: str = "", count: int = 1) -> list[str]:
        with self.client("buyer") as buyer:
            to = f"{self.name}/seller"
            return [buyer.post(to=to, document={"order": 4711}, topic=topic).session for _ in range(count)]

    def fail(self, count: int = 1, topic: str = "orders", why: str = "the pad is dry") -> list[str]:
        """Messages that the stamper answers with an error."""
        to, way = f"{self.name}/seller", [f"{self.name}/stamper"]
        with self.client("buyer") as buyer, self.client("stamper") as stamper:
            posted = [buyer.post(to=to, route=way, document="<o/>", topic=topic) for _ in range(count)]
            left = count
            while left:
                messages = stamper.poll(min(left, 50), wait_s=20)
                for message in messages:
                    stamper.reply(message, Reply(status=Status("no-ink", why)))
                left -= len(messages)
        return [one.session for one in posted]

    def stamp(self, count: int) -> int:
        """Have the stamper do its work, and say how many it was given."""
        with self.client("stamper") as stamper:
            messages = [message for _ in range(count) for message in stamper.poll(1, wait_s=5)]
            for message in messages:
                stamper.reply(message)
        return len(messages)


def register_organization(demo: Demo, person: Person, name: str, email: str) -> StampedOrders:
    """Register an organization in the browser and make its services and keys."""
    person.register(name, email, PASSWORD)
    return add_services(demo, person, name, email)


def add_services(demo: Demo, person: Person, name: str, email: str) -> StampedOrders:
    """Make the services and keys of an organization that exists, as its owner: keys an operator makes wait for confirmation."""
    keys = {}
    with Client(access=Access.with_password(demo.url, email, PASSWORD)) as owner:
        for service in ("buyer", "stamper", "seller"):
            made = owner.change("POST", "/v1/services", {"organization": name, "name": service})
            path = f"/v1/services/{made['gcid']}/credentials"
            keys[service] = owner.change("POST", path, {"kind": "key", "label": "test", "expiresInDays": 5})["key"]
    return StampedOrders(demo=demo, name=name, person=person, keys=keys)


def counted(demo: Demo, organization: StampedOrders, sessions: Sequence[str] = (SESSION,)) -> Counted:
    """The warehouse of this network, about this organization."""
    with Client(demo.url, demo.operator_key) as client:
        known = {one["name"]: one["gcid"] for one in client.every("/v1/services", organization=organization.name)}
    found = Counted(organization=organization.name, services=known, sessions=sessions)
    found.write(demo.data / "warehouse")
    return found
