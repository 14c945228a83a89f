"""Answers every order until it is interrupted. POSTROAD_URL and POSTROAD_KEY_FILE say where and who."""

from postroad.client import Client, Received


def confirm(order: Received) -> dict[str, str]:
    return {"confirmed": order.document["order"]}


with Client() as network:
    network.handle(confirm)
