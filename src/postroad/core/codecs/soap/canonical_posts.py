"""Fast path for posts in canonical spelling: one regular expression instead of about forty callbacks.

Most posts come from a few clients and look alike: fields in the order of the schema, no comments, no character
references. The patterns below accept a small subset of XML, which is well-formed by construction; inline documents are
still checked by expat. For any other spelling the result is ``None``, and the general reader reads the post. A property
test compares the results of both, so this module can only affect speed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec.structs import replace

from postroad.core.codecs.lexical import NOT_XML, read_base64, read_text, read_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.soap.fragment import mentions_prefix
from postroad.core.codecs.soap.names import NAMESPACE
from postroad.core.codecs.soap.parts import CONTENT_TYPES
from postroad.core.codecs.soap.post_reader import FIELDS, assemble, make_property
from postroad.core.codecs.soap.post_shapes import Cut, KnownShapes, PostShape, cut_post
from postroad.core.codecs.xml import check_well_formed
from postroad.core.model.message import Argument, Message, Part, Property, Recipient

# A repeated group uses memory for each repetition until the match ends; longer posts are read by the general reader.
_MAX_SERVICES, _MAX_ARGUMENTS, _MAX_PROPERTIES, _MAX_DECLARATIONS = 1_000, 100, 200, 256
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f"
_VALUE = rf'[^"&<\t\n\r{_CONTROLS}]*+'
_QUOTED = f'"{_VALUE}"'
_TEXT = rf"[^<&>\r{_CONTROLS}]*+"
_PREFIX = r"[A-Za-z_][\w.-]*+"
_DECLARATIONS = rf"((?:\s++xmlns:{_PREFIX}={_QUOTED}){{0,{_MAX_DECLARATIONS}}})\s*+"
_ARGUMENT = rf"<(?P=p):Argument name={_QUOTED}>{_TEXT}</(?P=p):Argument>"
_END_OF_SERVICE = "</(?P=p):Service>"
_ARGUMENTS = rf"{_ARGUMENT}(?:{_END_OF_SERVICE}|(?:{_ARGUMENT}){{1,{_MAX_ARGUMENTS}}}{_END_OF_SERVICE})"
_SERVICE = rf"<(?P=p):Service name={_QUOTED}(?:/>|>{_ARGUMENTS}|>{_END_OF_SERVICE})"


def _field(name: str) -> str:
    return rf"(?:<(?P=p):{name}>({_TEXT})</(?P=p):{name}>\s*+|)"


def _services(name: str) -> str:
    return rf"(?:<(?P=p):{name}>\s*+((?:{_SERVICE}\s*+){{1,{_MAX_SERVICES}}})</(?P=p):{name}>\s*+|)"


def _pattern(text: str) -> re.Pattern[bytes]:
    return re.compile(text.encode(), re.ASCII)


_HEAD = _pattern(  # optional groups are (?:…|), which is faster than (?:…)?
    r'(?:<\?xml version="1\.0"(?: encoding="(?:UTF|utf)-8"|)\?>\s*+|)'
    rf"<(?P<s>{_PREFIX}):Envelope{_DECLARATIONS}>\s*+<(?P=s):Body>\s*+<(?P<p>{_PREFIX}):Post{_DECLARATIONS}>\s*+<(?P=p):Header>\s*+"
    + _field("From")
    + _services("To")
    + "".join(_field(name) for name in FIELDS[1:])
    + _services("Route")
    + rf"((?:<(?P=p):Property name={_QUOTED}(?: type={_QUOTED}|)>{_TEXT}</(?P=p):Property>\s*+){{0,{_MAX_PROPERTIES}}})"
    + r"</(?P=p):Header>\s*+"
)
_DECLARED = _pattern(r'xmlns:([\w.-]+)="([^"]*)"')
_ONE_SERVICE = _pattern(
    r'<[\w.-]++:Service name="([^"]*+)"(?:/>|>((?:<[\w.-]++:Argument[^<]*+</[\w.-]++:Argument>)*)<)'
)
_ONE_ARGUMENT = _pattern(r'<[\w.-]+:Argument name="([^"]*)">([^<]*)<')
_ONE_PROPERTY = _pattern(r'<[\w.-]+:Property name="([^"]*)"(?: type="([^"]*)")?>([^<]*)<')
_PART = _pattern(
    rf'<(?P<p>{_PREFIX}):(Document|Attachment)(?: id="({_VALUE})"|)(?: contentType="({_VALUE})"|)'
    rf'(?: expiration="({_VALUE})"|)>\s*+<(?P=p):(Xml|Text|Base64)>'
)
_PART_END = _pattern(r"</[\w.-]++:(?:Xml|Text|Base64)>\s*+</([\w.-]++):(Document|Attachment)>\s*+")
_END = _pattern(rf"</({_PREFIX}):Post>\s*+</({_PREFIX}):Body>\s*+</\2:Envelope>\s*+")
_ONLY_TEXT = _pattern(_TEXT)
_RESERVED = frozenset({b"xml", b"xmlns", b"http://www.w3.org/XML/1998/namespace", b"http://www.w3.org/2000/xmlns/"})
_SHAPES = KnownShapes()
# attachment?, id, content type, expiration, form, content
_Located = tuple[bool, bytes | None, bytes | None, bytes | None, bytes, bytes]


def read_canonical(utf8: bytes, namespace: str, limits: WireLimits) -> Message | None:
    """Return the message of a canonically spelled post; None if the general reader must read it."""
    if not (utf8.isascii() or _is_xml_text(utf8)):
        return None
    shape = _SHAPES.again(utf8, namespace, limits)
    if shape is not None:
        begin = len(shape.before)
        end = utf8.find(b"<", begin) if shape.between else begin
        if utf8.startswith(shape.between, end) and _is_handle(utf8[begin:end], limits):
            return _repeated(utf8, utf8[begin:end], end + len(shape.between), shape)
    cut = cut_post(utf8)
    shape = _SHAPES.get(cut, namespace, limits) if cut else None
    if cut is not None and shape is not None and utf8.endswith(shape.tail) and _is_handle(cut[1], limits):
        return _repeated(utf8, cut[1], cut[3], shape)
    return _read(utf8, namespace, limits, cut)


def _repeated(utf8: bytes, handle: bytes, document_at: int, shape: PostShape) -> Message:
    """Return the message of a post with a cached shape, from its handle and its document."""
    document = _document(utf8[document_at : len(utf8) - len(shape.tail)], shape.prefixes, shape.limits)
    part = replace(shape.part, data=document)
    return replace(shape.message, handle=handle.decode(), parts=(part,))


def _is_handle(text: bytes, limits: WireLimits) -> bool:
    return len(text) <= limits.text_chars and (text.isalnum() or _ONLY_TEXT.fullmatch(text) is not None)


def _read(utf8: bytes, namespace: str, limits: WireLimits, cut: Cut | None) -> Message | None:
    head = _HEAD.match(utf8)
    if head is None:
        return None
    soap, outer, prefix, inner, sender, to, *texts, route, properties = head.groups()
    prefixes = _prefixes(soap, outer, prefix, inner, namespace)
    found = _located(utf8, head.end(), soap, prefix) if prefixes else None
    if prefixes is None or found is None:
        return None
    message = assemble(
        texts=[text.decode() if text else "" for text in (sender, *texts)],
        to=_recipients(to, limits) if to else (),
        route=_recipients(route, limits) if route else (),
        properties=_properties(properties, limits) if properties else (),
        status=None,
        parts=tuple([_part(number, part, prefixes, limits) for number, part in enumerate(found, start=1)]),
        limits=limits,
    )
    if cut is not None and len(found) == 1 and found[0][4] == b"Xml":
        _keep_shape(
            utf8=utf8,
            namespace=namespace,
            limits=limits,
            cut=cut,
            message=message,
            prefixes=prefixes,
            prefix=prefix,
            content=found[0][5],
        )
    return message


def _keep_shape(
    utf8: bytes,
    namespace: str,
    limits: WireLimits,
    cut: Cut,
    message: Message,
    prefixes: tuple[bytes, ...],
    prefix: bytes,
    content: bytes,
) -> None:
    """Cache the post's shape, if the cut is exactly around its handle and before its document."""
    before, handle, between, document_at = cut
    around_handle = not between or before.endswith(b"<%b:Handle>" % prefix)
    document_end = document_at + len(content)
    in_place = utf8[document_at:document_end] == content and utf8.startswith(b"</%b:Xml>" % prefix, document_end)
    if around_handle and in_place and handle.decode() == message.handle:
        [part] = message.parts
        _SHAPES.keep(
            PostShape(
                message=message,
                part=part,
                prefixes=prefixes,
                before=before,
                between=between,
                tail=utf8[document_end:],
                namespace=namespace,
                limits=limits,
            )
        )


def _is_xml_text(utf8: bytes) -> bool:
    try:
        return not NOT_XML.search(utf8.decode())
    except UnicodeDecodeError:
        return False


@lru_cache(maxsize=64)
def _prefixes(soap: bytes, outer: bytes, prefix: bytes, inner: bytes, namespace: str) -> tuple[bytes, ...] | None:
    """Return the prefixes declared around a document; None if the envelope's own have another meaning."""
    scope = dict(_DECLARED.findall(outer))
    if scope.get(soap) != namespace.encode():
        return None
    scope.update(_DECLARED.findall(inner))
    once = len(scope) == outer.count(b"xmlns:") + inner.count(b"xmlns:")
    usual = once and all(scope.values()) and _RESERVED.isdisjoint(scope) and _RESERVED.isdisjoint(scope.values())
    return tuple(scope) if usual and scope.get(prefix) == NAMESPACE.encode() else None


def _located(utf8: bytes, position: int, soap: bytes, prefix: bytes) -> list[_Located] | None:
    """Return all parts; None if anything but the end of the envelope follows them."""
    found: list[_Located] = []
    last = b"Document"
    part = _PART.match(utf8, position)
    while part is not None:
        used, kind, part_id, content_type, expiration, form = part.groups()
        end = utf8.find(b"</%b:%b>" % (prefix, form), part.end())
        after = _PART_END.match(utf8, end) if end > 0 else None
        if used != prefix or after is None or after.groups() != (prefix, kind) or kind > last:
            return None
        last = kind
        found.append((kind == b"Attachment", part_id, content_type, expiration, form, utf8[part.end() : end]))
        position = after.end()
        part = _PART.match(utf8, position)
    end_tags = _END.fullmatch(utf8, position)
    return found if end_tags and end_tags.groups() == (prefix, soap) else None


def _part(number: int, part: _Located, prefixes: tuple[bytes, ...], limits: WireLimits) -> Part:
    attachment, part_id, content_type, expiration, form, content = part
    return Part(
        id=_text(part_id, limits) if part_id else str(number),
        content_type=_text(content_type, limits) if content_type else CONTENT_TYPES[form.decode()],
        data=_document(content, prefixes, limits) if form == b"Xml" else _plain(form, content),
        expires_at_us=read_time(expiration.decode().strip(), "") if expiration else 0,
        attachment=attachment,
    )


def _document(content: bytes, prefixes: tuple[bytes, ...], limits: WireLimits) -> bytes:
    """Return the inline document if it is well-formed and self-contained."""
    content = content.strip(b" \t\r\n")
    if content[:1] != b"<" or content[1:2] == b"?" or mentions_prefix(content, prefixes):
        raise malformed("not canonical")
    check_well_formed(content, limits)
    return content


def _plain(form: bytes, content: bytes) -> bytes:
    if not _ONLY_TEXT.fullmatch(content):
        raise malformed("not canonical")
    return content if form == b"Text" else read_base64(content.decode(), "")


def _recipients(services: bytes, limits: WireLimits) -> tuple[Recipient, ...]:
    if len(services) < min(512, limits.text_chars):
        return _usual_recipients(services)
    return tuple([_recipient(name, arguments, limits) for name, arguments in _ONE_SERVICE.findall(services)])


@lru_cache(maxsize=256)
def _usual_recipients(services: bytes) -> tuple[Recipient, ...]:
    """Return the recipients, cached because most posts have the same ones; their length is within all limits."""
    return tuple([_recipient(name, arguments, DEFAULT_LIMITS) for name, arguments in _ONE_SERVICE.findall(services)])


def _recipient(name: bytes, arguments: bytes, limits: WireLimits) -> Recipient:
    service = _text(name, limits)
    if not service:
        raise malformed("the attribute name is missing")
    if not arguments:
        return Recipient(service)
    found = _ONE_ARGUMENT.findall(arguments)
    return Recipient(service, tuple([Argument(_text(key, limits), _text(value, limits)) for key, value in found]))


def _properties(block: bytes, limits: WireLimits) -> tuple[Property, ...]:
    return tuple(
        [
            Property(_text(name, limits), _text(value, limits))
            if kind in (b"", b"string")
            else make_property(name.decode(), kind.decode(), value.decode(), "", limits)
            for name, kind, value in _ONE_PROPERTY.findall(block)
        ]
    )


def _text(raw: bytes, limits: WireLimits) -> str:
    text = raw.decode()
    return text if len(text) <= limits.text_chars else read_text(text, "", limits)
