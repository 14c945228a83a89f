"""What ``postroad try`` is given, as the network's bench takes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from postroad.cli.message_files import content_of, is_session, message_in, text_of
from postroad.cli.rule_files import rules_in
from postroad.core.codecs.json_form import JSON_FORM
from postroad.errors import Misconfigured

XSLT = b"http://www.w3.org/1999/XSL/Transform"
XML_SCHEMA = re.compile(rb"<(?:[\w.-]+:)?schema\b")
ENDINGS = {".xsd": "schema", ".dtd": "dtd"}
SCHEMA_WORDS = frozenset({"$schema", "$id", "$ref", "$defs", "type", "properties", "required", "items"})  # of no rule
LOOK = 4_096


def tool_of(file: str) -> dict[str, Any]:
    """A stylesheet, a schema, a rule, or a condition alone."""
    content = content_of(file)
    if XSLT in content[:LOOK]:
        return {"stylesheet": text_of(content, file)}
    if kind := _kind_of_schema(file, content):
        name = Path(file).name if file != "-" else "tried"
        return {"schema": {"kind": kind, "name": name, "content": text_of(content, file)}}
    rules = rules_in(content, file)
    if len(rules) != 1:
        raise Misconfigured([f"{file}: try one rule at a time; here are {len(rules)}"])
    return {"rule": rules[0]} if "then" in rules[0] else {"condition": rules[0].get("when", rules[0])}


def _kind_of_schema(file: str, content: bytes) -> str:
    """By the file's ending, and of JSON by what it says; empty when it is none."""
    if kind := ENDINGS.get(Path(file).suffix.lower()):
        return kind
    if content.lstrip()[:1] != b"{":
        return "schema" if XML_SCHEMA.search(content[:LOOK]) else ""
    try:
        members = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return "jsonschema" if SCHEMA_WORDS & members.keys() else ""


def subject_of(what: str) -> dict[str, Any]:
    """A message that was posted, one that could be, or a document."""
    if is_session(what):
        return {"session": what}
    content = content_of(what)
    message = message_in(content)
    if message is None:
        return {"document": text_of(content, what)}
    return {"message": msgspec.json.decode(JSON_FORM.encode_post(message))}
