"""ISO 20022 documents in a business file (head.002), or one in a business message envelope (nvlp.001).

Options of an envelope, with their defaults in parentheses:

    form          xchg, a file of payloads, or nvlp, an envelope of one document (xchg)
    reference     the payload identifier (a newly drawn number) · payload_type (ISO20022)
    members       number of members, written in the header (not written)
    duplicate     yes, for a file that may have been sent before

Rule: documents are never simply concatenated: each has its own payload, in its own namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import unfit_member, unfit_value
from postroad.core.interchange.envelope_errors import is_same_number, judge_harmless, no_interchange
from postroad.core.interchange.model import MAX_MEMBERS, Envelope, InterchangeFault, Numbers, OnEnvelopeError, Split
from postroad.core.interchange.xml_wrapper.markup import DECLARATION, check_value, iter_roots, write_element, write_time
from postroad.core.interchange.xml_wrapper.outline import Outline, Path, local_name, namespace_of, read_outline
from postroad.core.interchange.xml_wrapper.own_root import members_in
from postroad.errors import Refused

STANDARD = "iso20022"
FILE = "urn:iso:std:iso:20022:tech:xsd:head.002.001.01"
ENVELOPE = "urn:iso:std:iso:20022:tech:xsd:nvlp.001.001.01"
_FAMILIES = {"Xchg": ".head.002.", "BizMsgEnvlp": ".nvlp.001."}
_HOLDERS = {"Xchg": "Pyld", "BizMsgEnvlp": "Doc"}
_SAID = "PyldDesc/ApplSpcfcs/TtlNbOfDocs"


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Return the payloads of a file, or the document of an envelope; refuses any other root element."""
    found = read_outline(data, _is_member, most_members)
    form = local_name(found.root)
    if _FAMILIES.get(form, "?") not in namespace_of(found.root).replace(":", "."):
        raise no_interchange(
            f"the root {form} is neither a business file (Xchg of head.002) nor a BizMsgEnvlp of nvlp.001"
        )
    texts = found.texts
    return Split(
        standard=STANDARD,
        reference=texts.get("PyldDesc/PyldData/PyldIdr", "") or texts.get("Hdr/AppHdr/BizMsgIdr", ""),
        sender=_party(found, "Fr"),
        receiver=_party(found, "To"),
        members=members_in(found),
        facts=_facts(found, "xchg" if form == "Xchg" else "nvlp"),
        faults=tuple(_faults(found)),
    )


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    return judge_harmless(examine(data, most_members), on_error, ())


def assemble(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    """Yield the pieces of the stream; a declared number of members is checked at the end."""
    form = envelope.options.get("form", "xchg")
    if form not in ("xchg", "nvlp"):
        raise unfit_value("form", f"{form!r} is neither xchg nor nvlp")
    return _file(members, envelope, numbers) if form == "xchg" else _envelope(members)


def _file(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    said, count = envelope.options.get("members", ""), 0
    yield DECLARATION + f'<bf:Xchg xmlns:bf="{FILE}">\n{_description(envelope, numbers)}\n'.encode()
    for root in iter_roots(members):
        count += 1
        yield b"<bf:Pyld>%b</bf:Pyld>\n" % root
    if said and said != str(count):
        raise unfit_value("members", f"the header specifies {said} documents, but {count} were given")
    yield b"</bf:Xchg>\n"


def _envelope(members: Iterable[Buffer]) -> Iterator[bytes]:
    position = -1
    for position, root in enumerate(iter_roots(members)):
        if position:
            raise unfit_member(
                position, "an envelope (nvlp.001) has one document; send a file (xchg), or each document by itself"
            )
        yield DECLARATION + f'<env:BizMsgEnvlp xmlns:env="{ENVELOPE}">\n'.encode()
        yield b"<env:Doc>%b</env:Doc>\n" % root
    if position < 0:
        raise Refused("interchange.unfit", "an envelope (nvlp.001) must hold a document; nothing was given")
    yield b"</env:BizMsgEnvlp>\n"


def _description(envelope: Envelope, numbers: Numbers) -> str:
    options = envelope.options
    reference = check_value("reference", options.get("reference") or str(numbers.next("interchange")), 35)
    kind = check_value("payload_type", options.get("payload_type", "ISO20022"), 256)
    data = write_element("bf:PyldIdr", reference) + write_element("bf:CreDtAndTm", write_time(envelope))
    data += write_element("bf:PssblDplctFlg", "true") if options.get("duplicate") == "yes" else ""
    said = options.get("members", "")
    if said and not said.isdecimal():
        raise unfit_value("members", f"{said!r} is not a number")
    user = write_element("bf:SysUsr", check_value("sender", envelope.sender, 140)) if envelope.sender else ""
    specifics = f"<bf:ApplSpcfcs>{user}{write_element('bf:TtlNbOfDocs', said)}</bf:ApplSpcfcs>" if said else ""
    return f"<bf:PyldDesc><bf:PyldData>{data}</bf:PyldData>{specifics}{write_element('bf:PyldTp', kind)}</bf:PyldDesc>"


def _is_member(path: Path) -> bool:
    return len(path) == 3 and _HOLDERS.get(local_name(path[0])) == local_name(path[1])


def _party(found: Outline, side: str) -> str:
    """Return the party's BIC from an envelope's header; a file names only its sender, as a system user."""
    bic = found.texts.get(f"Hdr/AppHdr/{side}/FIId/FinInstnId/BICFI", "")
    return bic or (found.texts.get("PyldDesc/ApplSpcfcs/SysUsr", "") if side == "Fr" else "")


def _facts(found: Outline, form: str) -> dict[str, str]:
    names = {"created": "PyldDesc/PyldData/CreDtAndTm", "payload_type": "PyldDesc/PyldTp", "members": _SAID}
    told = {name: found.texts[path] for name, path in names.items() if path in found.texts}
    if found.texts.get("PyldDesc/PyldData/PssblDplctFlg") in ("true", "1"):
        told["duplicate"] = "yes"
    return told | {"form": form, "namespace": namespace_of(found.root)}


def _faults(found: Outline) -> Iterator[InterchangeFault]:
    said, count = found.texts.get(_SAID, ""), len(found.members)
    if said and not is_same_number(said, str(count)):
        yield InterchangeFault(
            code="iso20022.count", text=f"the header specifies {said!r} documents, but there are {count}"
        )
    if local_name(found.root) == "Xchg" and "PyldDesc/PyldData/PyldIdr" not in found.texts:
        yield InterchangeFault(
            code="iso20022.header", text="the file has no payload identifier (PyldDesc/PyldData/PyldIdr)"
        )
