"""The formats in which a service may receive its messages: the network's native formats, and external ones.

A native format puts the network's header around the documents. An external format leaves the partner's bytes
unchanged, with the network's header beside them.
"""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    JSON = "json"
    SOAP11 = "soap11"
    SOAP12 = "soap12"
    ENVELOPE = "envelope"
    SOAP = "soap"  # the service's own SOAP envelope
    SWA = "swa"  # SOAP with attachments, in multipart/related
    DIME = "dime"
    MIME = "mime"  # any entity: one document as it is, or several in a multipart
    AS2 = "as2"
    CLOUDEVENTS = "cloudevents"


PLAIN = (Format.SOAP, Format.SWA, Format.DIME, Format.MIME, Format.AS2, Format.CLOUDEVENTS)
OWN = (Format.JSON, Format.SOAP11, Format.SOAP12, Format.ENVELOPE)
