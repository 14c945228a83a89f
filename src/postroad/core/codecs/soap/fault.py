"""Refusals as SOAP faults; the stable error code is always in the detail."""

from __future__ import annotations

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12, network_name
from postroad.core.codecs.soap.reader import SoapElement
from postroad.core.codecs.xml_escape import text_value
from postroad.errors import Refused

_CLIENT = {SOAP_11: "Client", SOAP_12: "Sender"}
_SERVER = {SOAP_11: "Server", SOAP_12: "Receiver"}


def _fault_code(namespace: str, code: str, pointer: str, status: int) -> str:
    if code == "wire.unsupported" and pointer.startswith("/Envelope/Header/"):
        return "MustUnderstand"
    if code == "wire.unsupported" and pointer == "/Envelope":
        return "VersionMismatch"
    return (_SERVER if status >= 500 else _CLIENT)[namespace]


def write_fault(namespace: str, code: str, title: str, detail: str, pointer: str, session: str, status: int) -> bytes:
    kind = _fault_code(namespace, code, pointer, status)
    reason = text_value(title)
    fields = {
        "Code": code,
        "Title": title,
        "Text": detail,
        "Pointer": pointer,
        "Session": session,
        "Status": str(status),
    }
    inside = "".join(f"<pr:{name}>{text_value(text)}</pr:{name}>" for name, text in fields.items() if text)
    problem = f"<pr:Refusal>{inside}</pr:Refusal>"
    if namespace == SOAP_11:
        return (
            f"<soap:Fault><faultcode>soap:{kind}</faultcode><faultstring>{reason}</faultstring>"
            f"<detail>{problem}</detail></soap:Fault>"
        ).encode()
    return (
        f"<soap:Fault><soap:Code><soap:Value>soap:{kind}</soap:Value></soap:Code>"
        f'<soap:Reason><soap:Text xml:lang="en">{reason}</soap:Text></soap:Reason>'
        f"<soap:Detail>{problem}</soap:Detail></soap:Fault>"
    ).encode()


def read_fault(fault: SoapElement, limits: WireLimits) -> Refused:
    """Return the refusal in a fault's detail; other faults are shown unchanged."""
    for detail in fault.children:
        for refusal in detail.children:
            if refusal.name == network_name("Refusal"):
                fields = refusal.fields(Code=1, Title=1, Text=1, Pointer=1, Session=1, Status=1)
                values = {name: found[0].text if found else "" for name, found in fields.items()}
                return Refused(values["Code"], values["Text"], pointer=values["Pointer"], session=values["Session"])
    reason = " ".join("".join(piece.pieces) for piece in fault.children)[: limits.text_chars]
    return Refused("network.unavailable", f"the server answered with a fault that is not postroad's: {reason.strip()}")
