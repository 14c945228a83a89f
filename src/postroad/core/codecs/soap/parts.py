"""Documents and attachments in SOAP: inline XML, text, or Base64, whichever preserves the bytes exactly.

``pr:Document`` and ``pr:Attachment`` hold one of ``pr:Xml`` (the document as it is), ``pr:Text`` and ``pr:Base64``.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Sequence

from postroad.core.codecs.lexical import NOT_XML, read_base64, read_text, read_time, write_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.parts import OCTETS, TEXT, XML, is_xml, read_headers
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.soap.reader import SoapElement
from postroad.core.codecs.xml import is_embeddable
from postroad.core.codecs.xml_escape import attribute_value, text_value
from postroad.core.model.message import Part

CONTENT_TYPES = {"Xml": XML, "Text": TEXT, "Base64": OCTETS}


def read_parts(
    documents: Sequence[SoapElement], attachments: Sequence[SoapElement], limits: WireLimits
) -> tuple[Part, ...]:
    elements = [*documents, *attachments]
    return tuple(
        read_part(element, str(number), number > len(documents), limits)
        for number, element in enumerate(elements, start=1)
    )


def read_part(element: SoapElement, default_id: str, attachment: bool, limits: WireLimits) -> Part:
    attributes = element.only_attributes("id", "contentType", "expiration")
    fields = element.fields(Header=limits.part_headers, Xml=1, Text=1, Base64=1)
    form, data = _content(element, fields)
    said = [(h.only_attributes("name").get("name", ""), h.text) for h in fields["Header"]]
    expiration = attributes.get("expiration", "")
    return Part(
        id=read_text(attributes.get("id", ""), element.path, limits) or default_id,
        content_type=read_text(attributes.get("contentType", ""), element.path, limits) or CONTENT_TYPES[form],
        data=data,
        expires_at_us=read_time(expiration.strip(), element.path) if expiration else 0,
        attachment=attachment,
        headers=read_headers(said, element.path, limits) if said else (),
    )


def _content(element: SoapElement, fields: dict[str, list[SoapElement]]) -> tuple[str, bytes]:
    found = [(form, child) for form in CONTENT_TYPES for child in fields[form]]
    if len(found) != 1:
        raise malformed("a part holds exactly one of Xml, Text and Base64", element.path)
    form, content = found[0]
    if form == "Xml":
        return form, content.document
    return form, content.text.encode() if form == "Text" else read_base64(content.text, content.path)


def write_part(part: Part) -> bytes:
    name = b"Attachment" if part.attachment else b"Document"
    expiration = f' expiration="{write_time(part.expires_at_us)}"' if part.expires_at_us else ""
    opening = f' id="{attribute_value(part.id)}" contentType="{attribute_value(part.content_type)}"{expiration}>'
    headers = _headers(part.headers) if part.headers else b""
    return b"<pr:%b%b%b%b</pr:%b>" % (name, opening.encode(), headers, _written(part), name)


def _headers(headers: Sequence[tuple[str, str]]) -> bytes:
    written = (f'<pr:Header name="{attribute_value(name)}">{text_value(value)}</pr:Header>' for name, value in headers)
    return "".join(written).encode()


def _written(part: Part) -> bytes:
    data = part.data
    if is_xml(part.content_type) and is_embeddable(data):
        return b"<pr:Xml>%b</pr:Xml>" % data
    if is_xml(part.content_type) or part.content_type.startswith(("text/", "application/json")):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = "\0"
        if not NOT_XML.search(text):
            return b"<pr:Text>%b</pr:Text>" % text_value(text).encode()
    return b"<pr:Base64>%b</pr:Base64>" % b2a_base64(data, newline=False)
