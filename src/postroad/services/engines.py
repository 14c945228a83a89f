"""Interfaces of the engines that run members' stylesheets, queries, scripts and schemas.

Stylesheets are programs of members, so an engine confines them to the document and the parameters, and stops them
when they take too long. ``bootstrap`` chooses the adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Refused
from postroad.ports import QueryEngine, Validator


class Transformer(Protocol):
    """Runs XSLT 3.0; every error is a ``Refused``, and ``pointer`` names the line if known."""

    async def check(self, stylesheet: str) -> None:
        """Compile the stylesheet; raises Refused with ``stylesheet.invalid`` if that fails."""

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        """Apply the stylesheet to an XML document; returns UTF-8, in the method of the stylesheet's ``xsl:output``.

        ``transform.failed``: a run-time error, or the document cannot be read. ``transform.timeout``,
        ``transform.memory``, ``transform.output-too-large``: it exceeded a limit. ``transform.suspended``: it did so
        too often recently. A parameter takes the type that its ``xsl:param`` declares; an undeclared parameter is
        ignored.
        """

    async def close(self) -> None:
        """Stop; running and later calls raise ``Unavailable``."""


class NullValidator:
    """A validator for networks that compile no schemas."""

    async def check(self, schema: Schema) -> None:
        raise Refused("request.not-implemented", "This network does not support schemas")

    async def validate(self, schema: Schema, document: bytes) -> tuple[DocumentFault, ...]:
        raise Refused("request.not-implemented", "This network does not support validation")

    async def close(self) -> None: ...


NULL_VALIDATOR = NullValidator()


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """The engines that run members' programs and do the heavy work of hosted services."""

    transformer: Transformer
    judges: Mapping[DeciderLanguage, QueryEngine]  # evaluate the candidates of exchanges
    validator: Validator = NULL_VALIDATOR
