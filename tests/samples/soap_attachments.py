"""SOAP messages with attachments, as a sender's toolkit writes them."""

from __future__ import annotations

from postroad.core.mediation.model import Wire

X12 = b"ISA*00*~\nIEA*1~\r\n\x00\xff"
INVOICE = b"<invoice/>"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
NETWORK_HEADER = '<s:Header><pr:Header xmlns:pr="urn:postroad:message:1"><pr:Topic>T</pr:Topic></pr:Header></s:Header>'
ONE = ("Content-Type: application/edi-x12\r\nContent-Disposition: attachment; filename=po.x12", X12)
TWO = ("Content-Type: application/xml", INVOICE)


def swa(body: str, *attachments: tuple[str, bytes], header: str = "") -> Wire:
    """A SOAP message with attachments, as a sender's toolkit writes it."""
    envelope = f'<s:Envelope xmlns:s="{SOAP}">{header}<s:Body>{body}</s:Body></s:Envelope>'
    pieces = [b"Content-Type: text/xml; charset=utf-8\r\nContent-ID: <root>\r\n\r\n" + envelope.encode()]
    for number, (head, data) in enumerate(attachments):
        pieces.append(f"Content-ID: <part{number}>\r\n{head}\r\n\r\n".encode() + data)
    data = b"".join(b"--b\r\n" + piece + b"\r\n" for piece in pieces) + b"--b--\r\n"
    return Wire([("content-type", 'multipart/related; type="text/xml"; start="<root>"; boundary="b"')], data)
