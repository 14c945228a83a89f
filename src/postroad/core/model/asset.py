"""Assets: the named files of a hosted service, and the schemas from which rules read default attributes.

They are configuration objects like services and rules: checked when saved, versioned, exported and applied together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AssetKind(StrEnum):
    STYLESHEET = "stylesheet"  # XSLT, for services hosted as xslt
    TABLE = "table"  # CSV with a head line, for services hosted as lookup
    LIST = "list"  # JSON: the senders that a hosted filter accepts
    MAP = "map"  # JSON: the services that share a map of a service hosted as crossreference
    QUERY = "query"  # XQuery: a routing for a service hosted as exchange; bindings refer to it by name
    SCRIPT = "script"  # a routing, in the script language
    SCHEMA = "schema"  # XSD: for the rules of any service, and to validate with
    DTD = "dtd"  # a document type definition, to validate with
    JSONSCHEMA = "jsonschema"  # JSON Schema, to validate with


class Hosting(StrEnum):
    """Services that the network runs itself; their owner registers assets instead of connecting an application."""

    NONE = ""
    XSLT = "xslt"
    LOOKUP = "lookup"
    CROSSREFERENCE = "crossreference"
    FILTER = "filter"
    VALIDATE = "validate"
    EXCHANGE = "exchange"
    MODEL = "model"
    BATCHER = "batcher"  # a send port: gathers messages and sends them as interchanges
    SPLITTER = "splitter"  # splits interchanges into documents, and acknowledges them to the partner
    PROVISIONING = "provisioning"  # the network's own service; created at the first start


NEEDS: dict[AssetKind, tuple[Hosting, ...]] = {  # the hostings whose services may have an asset of this kind
    AssetKind.STYLESHEET: (Hosting.XSLT,),
    AssetKind.TABLE: (Hosting.LOOKUP,),
    AssetKind.LIST: (Hosting.FILTER,),
    AssetKind.MAP: (Hosting.CROSSREFERENCE,),
    AssetKind.QUERY: (Hosting.EXCHANGE,),
    AssetKind.SCRIPT: (Hosting.EXCHANGE,),
    AssetKind.JSONSCHEMA: (Hosting.VALIDATE, Hosting.EXCHANGE),
}
MAX_CONTENT_CHARS = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    service: str  # GCID of the owning service
    kind: AssetKind
    name: str
    content: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetDraft:
    """An asset before it is saved, with the other assets of its service."""

    asset: Asset
    hosted: Hosting  # the hosting of its service
    beside: tuple[Asset, ...] = ()  # the service's other assets of the kind
    with_referrers: bool = True  # whether the assets in ``beside`` that refer to it are also checked


def asset_key(service: str, kind: AssetKind, name: str) -> str:
    """Return the key under which an asset is saved."""
    return f"{service}/{kind.value}/{name.casefold()}"
