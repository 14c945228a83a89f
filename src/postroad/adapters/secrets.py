"""Secrets that profiles name by reference, read on the server from environment variables and files in one folder.

Rule: the author of a profile chooses which secret is read and where it is sent. So each may name only their own
secrets: files below the folder of their organization, and variables that contain their service's GCID in their name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from postroad.core.model.directory import Service
from postroad.errors import Misconfigured

VARIABLE = "PUSH_SECRET_"  # then the GCID, then anything
MAX_SECRET_BYTES = 65_536  # a file may hold several keys with their certificates


class OperatorsSecrets:
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment

    async def prepare(self, service: Service, *references: str) -> None:
        """Nothing is read ahead: variables and files are read when they are used."""

    def check(self, service: Service, reference: str) -> None:
        """Raise Misconfigured if the secret is missing."""
        self.secret(service, reference)

    def secret(self, service: Service, reference: str) -> str:
        kind, _, name = reference.partition(":")
        text = (
            self._variable(service, name).strip()
            if kind == "env"
            else _text(Path(self.file(service, reference)), reference)
        )
        if not text:
            raise Misconfigured([f"{reference} is empty"])
        return text

    def file(self, service: Service, reference: str) -> str:
        kind, _, name = reference.partition(":")
        if kind != "file":
            raise Misconfigured(
                ["push.secretFrom must be the location of the secret: secret:NAME, file:NAME or env:PUSH_SECRET_GCID…"]
            )
        own = (self._folder / service.organization).resolve()
        path = (own / name).resolve()
        if not path.is_relative_to(own):
            raise Misconfigured([f"{reference} is outside the folder of {service.organization} in {self._folder.name}"])
        if not path.is_file():
            raise Misconfigured([f"{reference}: this file does not exist in {self._folder.name}"])
        return str(path)

    def _variable(self, service: Service, name: str) -> str:
        own = f"{VARIABLE}{service.gcid}"
        if not name.casefold().startswith(own.casefold()):
            raise Misconfigured([f"env:{name}: this service may use variables that begin with {own.upper()}"])
        if name not in self._environment:
            raise Misconfigured([f"env:{name}: the operator has not set this variable"])
        return self._environment[name]


def _text(path: Path, reference: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_SECRET_BYTES).strip()
    except (OSError, UnicodeDecodeError):
        raise Misconfigured([f"{reference}: this file cannot be read as text"]) from None
