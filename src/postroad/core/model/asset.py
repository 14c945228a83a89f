"""Assets: named things that a hosted service works with, and schemas that rules know default attributes from.

They are configuration objects like services and rules: checked when saved, versioned, exported and applied together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AssetKind(StrEnum):
    STYLESHEET = "stylesheet"  # XSLT, for services hosted as xslt
    TABLE = "table"  # CSV with a head line, for services hosted as lookup
    LIST = "list"  # JSON: the senders that a hosted filter accepts
    MAP = "map"  # JSON: who shares a map of a service hosted as crossreference
    QUERY = "query"  # XQuery: a routing that bindings of a service hosted as exchange choose by its name
    SCRIPT = "script"  # also, in the language of scripts
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
    BATCHER = "batcher"  # a send port: what it is sent is gathered and goes on as interchanges
    SPLITTER = "splitter"  # takes interchanges apart, and tells partners so
    PROVISIONING = "provisioning"  # the network's own, made at its first start


NEEDS: dict[AssetKind, tuple[Hosting, ...]] = {  # what must run the service that an asset belongs to; any of these
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
    service: str  # GCID of the service it belongs to
    kind: AssetKind
    name: str
    content: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetDraft:
    """An asset to be saved, with the other assets of its service."""

    asset: Asset
    hosted: Hosting  # what runs its service
    beside: tuple[Asset, ...] = ()  # the service's other assets of the kind
    with_referrers: bool = True  # whether those beside it that refer to it are to be checked as well


def asset_key(service: str, kind: AssetKind, name: str) -> str:
    """The key under which an asset is saved."""
    return f"{service}/{kind.value}/{name.casefold()}"
