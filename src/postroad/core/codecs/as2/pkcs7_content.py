"""Extracts the CMS message from a part, raw or base64, whatever its headers declare.

Rule: the bytes decide. A CMS message begins with 0x30, and its base64 never does; messages of products that omit the
transfer encoding, or declare one that a gateway has removed, are understood, too.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import Entity

_SEQUENCE, _LONG = 0x30, 0x80  # the first byte, and the flag in the second byte if more than 127 bytes follow


def pkcs7_in(entity: Entity, limits: WireLimits) -> Buffer:
    body = entity.body
    if len(body) > 1 and body[0] == _SEQUENCE and body[1] & _LONG:
        return body
    data = entity.data(limits)
    if not data or data[0] == _SEQUENCE:
        return data
    try:
        return a2b_base64(data)
    except NotBase64:
        return data
