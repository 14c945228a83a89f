"""Answers every message until it is interrupted. POSTROAD_URL and POSTROAD_KEY_FILE say where and who."""

from postroad.client import Client, Delivered, text_of


def greet(message: Delivered) -> str:
    return f"{message.sender} said: {text_of(message)}"


with Client() as network:
    network.handle(greet)
