"""The input of ``postroad try``: a tool (rule, condition, stylesheet, schema) and a message or document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from postroad.cli.input.messages import decode_text, is_session, message_from, read_content
from postroad.cli.input.rules_and_models import read_rules
from postroad.core.codecs.json_form import JSON_FORM
from postroad.errors import Misconfigured

XSLT = b"http://www.w3.org/1999/XSL/Transform"
XML_SCHEMA = re.compile(rb"<(?:[\w.-]+:)?schema\b")
ENDINGS = {".xsd": "schema", ".dtd": "dtd"}
SCHEMA_WORDS = frozenset({"$schema", "$id", "$ref", "$defs", "type", "properties", "required", "items"})  # of no rule
SNIFFED_BYTES = 4_096


def parse_tool(file: str) -> dict[str, Any]:
    """Read a stylesheet, a schema, a rule, or a single condition."""
    content = read_content(file)
    if XSLT in content[:SNIFFED_BYTES]:
        return {"stylesheet": decode_text(content, file)}
    if kind := _kind_of_schema(file, content):
        name = Path(file).name if file != "-" else "tried"
        return {"schema": {"kind": kind, "name": name, "content": decode_text(content, file)}}
    rules = read_rules(content, file)
    if len(rules) != 1:
        raise Misconfigured([f"{file}: test one rule at a time; the file has {len(rules)}"])
    return {"rule": rules[0]} if "then" in rules[0] else {"condition": rules[0].get("when", rules[0])}


def _kind_of_schema(file: str, content: bytes) -> str:
    """Return the schema kind by file suffix, or by content for JSON; empty when it is not a schema."""
    if kind := ENDINGS.get(Path(file).suffix.lower()):
        return kind
    if content.lstrip()[:1] != b"{":
        return "schema" if XML_SCHEMA.search(content[:SNIFFED_BYTES]) else ""
    try:
        members = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return "jsonschema" if SCHEMA_WORDS & members.keys() else ""


def parse_subject(what: str) -> dict[str, Any]:
    """Return a posted message by its session, a message in a file, or a document."""
    if is_session(what):
        return {"session": what}
    content = read_content(what)
    message = message_from(content)
    if message is None:
        return {"document": decode_text(content, what)}
    return {"message": msgspec.json.decode(JSON_FORM.encode_post(message))}
