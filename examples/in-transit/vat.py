"""Adds the tax to every order on its way, until it is interrupted. POSTROAD_URL and POSTROAD_KEY_FILE say where and who."""

from postroad.client import Client, Received


def taxed(order: Received) -> dict[str, int]:
    return order.document | {"gross": order.document["net"] * 119 // 100}


with Client() as network:
    network.handle(taxed)
