"""The published description of the SOAP form: ``messages.xsd``, and a WSDL that holds it, so that one address suffices.

The files are part of the package, like code; they are read once, when this module is imported.
"""

from __future__ import annotations

from pkgutil import get_data

from postroad.core.codecs.xml_escape import attribute_value


def _package_file(name: str) -> bytes:
    data = get_data(__name__, name)
    if data is None:
        raise RuntimeError(f"the installed package lacks {name}; install postroad again")
    return data


MESSAGES_XSD = _package_file("messages.xsd")
_TEMPLATE = _package_file("postroad.wsdl")
_INLINE_SCHEMA = MESSAGES_XSD.partition(b"?>")[2].strip()


def wsdl(address: str) -> bytes:
    """The WSDL of the network that answers at ``address``, with the schema inside."""
    place = attribute_value(address).encode()
    return _TEMPLATE.replace(b"@SCHEMA@", _INLINE_SCHEMA).replace(b"@ADDRESS@", place)
