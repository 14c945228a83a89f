"""XSLT service: transforms documents by a named XSLT 3.0 stylesheet.

Arguments: ``stylesheet`` (its name), ``document`` (the id of the one document to transform; default: every XML
document), ``contentType`` (of the result; default: unchanged, in UTF-8). All other arguments become parameters of the
stylesheet.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.model.asset import AssetKind
from postroad.core.model.message import Delivered, Part
from postroad.services.arguments import Arguments
from postroad.services.document_values import choose_parts, set_utf8_charset
from postroad.services.service import ServiceResult, Tools

KNOWN = ("stylesheet", "document", "contentType")


class XsltService:
    async def work(self, message: Delivered, tools: Tools) -> ServiceResult:
        arguments = Arguments(message.arguments)
        stylesheet = tools.asset(AssetKind.STYLESHEET, arguments.get("stylesheet")).content
        parameters = arguments.others(KNOWN)
        content_type = arguments.get("contentType")
        changed: dict[str, Part] = {}
        for part in choose_parts(message, arguments.get("document")):
            data = await tools.transformer.transform(stylesheet, part.data, parameters)
            changed[part.id] = replace(
                part, data=data, content_type=content_type or set_utf8_charset(part.content_type)
            )
        return ServiceResult(parts=tuple(changed.get(part.id, part) for part in message.parts) if changed else None)
