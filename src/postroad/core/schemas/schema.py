"""A schema ready to be compiled, and the errors of a document that does not conform to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from postroad.core.model.asset import AssetKind

SCHEMA_KINDS = (AssetKind.SCHEMA, AssetKind.DTD, AssetKind.JSONSCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A schema with all texts to which it refers, directly or indirectly."""

    kind: AssetKind
    name: str
    texts: Mapping[str, str]  # by name, including its own
    digest: bytes  # of all texts; schemas with the same digest are equivalent


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFault:
    """One error in a document and its location: line and path in XML, a pointer in JSON."""

    text: str
    line: int = 0
    path: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line else self.path
        return f"{place}: {self.text}" if place else self.text


def digest_of_texts(kind: AssetKind, name: str, texts: Mapping[str, str]) -> bytes:
    digest = sha256(f"{kind.value}\0{name}".encode())
    for other in sorted(texts):
        text = texts[other].encode()
        digest.update(f"\0{other}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.digest()
