"""A rule as a form: one comparison and one action as fields, and everything else as text.

Rules: the result of a form is checked like the same rule in a file. A rule that the fields cannot express completely
is shown as text, so opening and saving it loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.console.form_values import InvalidForm, parse_yaml_text, to_yaml_text
from postroad.console.page_guards import Form
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.rules import ALWAYS
from postroad.core.model.rule import INCLUDING, ActionKind, Comparing, MessageSection, RuleRole, ValueType

WRITTEN = "written"  # in the text, below the fields
OPERATORS = (
    (ALWAYS, "every message"),
    (Comparing.EQUALS, "equals"),
    (Comparing.NOT_EQUALS, "exists and does not equal"),
    (Comparing.EQUALS_ONE_OF, "equals one of"),
    (Comparing.LESS_THAN, "is less than"),
    (Comparing.GREATER_THAN, "is greater than"),
    (Comparing.EXISTS, "exists"),
    (Comparing.MATCHES, "matches the pattern"),
    (WRITTEN, "other: in the text below"),
)
ROLES = (
    (RuleRole.ANY, "whenever the service takes part in a message"),
    (RuleRole.SENDER, "when the service sends"),
    (RuleRole.RECIPIENT, "when the service is a recipient"),
    (RuleRole.IN_TRANSIT, "when the service processes a message in transit"),
)
ACTIONS = (
    (ActionKind.ADD_SERVICE_AFTER, "insert a service after this one"),
    (ActionKind.ADD_SERVICE_BEFORE, "insert a service before this one"),
    (ActionKind.ADD_SERVICE, "insert a service between this one and the other party"),
    (ActionKind.REDIRECT, "redirect to another service"),
    (ActionKind.STOP_RULE_EVALUATION, "stop evaluating rules of this service"),
    (WRITTEN, "other, or several: in the text below"),
)
PLACES = (
    (MessageSection.HEADER, "a header field"),
    (MessageSection.BODY, "a value in the document"),
    (MessageSection.ATTACHMENT, "a value in an attachment"),
)
TYPES = ((ValueType.STRING, "text"), (ValueType.NUMBER, "a number"), (ValueType.DATE, "a date"))
CONDITION = ("operator", "where", "path", "type", "value")
ACTION = ("action", "service", "arguments", "topic", "pays", "isolate", "absorb")
FIELDS = ("name", "role", "positions", "enabled", "description", *CONDITION, *ACTION, "more")
CHECKED = "yes"  # value of a checked box
EMPTY = dict.fromkeys(FIELDS, "") | {
    "enabled": CHECKED, "role": RuleRole.ANY, "operator": Comparing.EQUALS, "where": MessageSection.HEADER, "path": "topic",
    "type": ValueType.STRING, "action": ActionKind.ADD_SERVICE,
}  # fmt: skip
IN_WORDS = dict(ACTIONS) | {ActionKind.CHANGE_TOPIC: "change the topic"}  # which is never a rule's only action


def rule_entry(form: Form) -> dict[str, Any]:
    """Return the rule of a form in the file format; raises InvalidForm if its text is invalid."""
    entry = parse_yaml_text(form.get("more", ""))
    others = sorted(entry.keys() - {"when", "then"})
    if others:
        raise InvalidForm(
            [DocumentError("", f"{', '.join(map(str, others))} has its own field; only when and then belong here")]
        )
    _put(entry, "when", form.get("operator", ""), lambda: _comparison(form))
    _put(entry, "then", form.get("action", ""), lambda: [_action(form)])
    plain = {name: form[name] for name in ("name", "role", "description") if form.get(name, "").strip()}
    return plain | _positions(form) | {"enabled": form.get("enabled") == CHECKED} | entry


def _positions(form: Form) -> dict[str, Any]:
    """Return the positions that are written as ``sender=1, inTransit=3``."""
    pairs = [one.partition("=") for one in form.get("positions", "").replace(",", " ").split()]
    given = {role: int(text) if text.isdecimal() and len(text) < 6 else text for role, _, text in pairs}
    return {"positions": given} if given else {}


def _put(entry: dict[str, Any], name: str, choice: str, made: Any) -> None:
    if choice == WRITTEN:
        if name not in entry:
            raise InvalidForm([DocumentError(f"/{name}", "enter it in the text, or choose another value in the field")])
        return
    if name in entry:
        raise InvalidForm(
            [
                DocumentError(
                    f"/{name}", "is set both in the fields and in the text; choose “other”, or clear one of them"
                )
            ]
        )
    entry[name] = made()


def _comparison(form: Form) -> Any:
    operator, value = form.get("operator", ""), form.get("value", "").strip()
    if operator == ALWAYS:
        return ALWAYS
    compared: dict[str, Any] = {form.get("where", ""): form.get("path", "").strip()}
    if form.get("type", ValueType.STRING) != ValueType.STRING:
        compared["as"] = form["type"]
    if operator == Comparing.EQUALS_ONE_OF:
        compared["values"] = [line.strip() for line in value.splitlines() if line.strip()]
    elif operator != Comparing.EXISTS:
        compared["value"] = value
    return {operator: compared}


def _action(form: Form) -> dict[str, Any]:
    kind = form.get("action", "")
    if kind == ActionKind.STOP_RULE_EVALUATION:
        return {kind: True}
    rest: dict[str, Any] = {"arguments": named_lines(form.get("arguments", ""), "/then/0/arguments")}
    rest |= {"topic": form.get("topic", "").strip()}
    rest |= {name: True for name in ("pays", "isolate") if form.get(name) == CHECKED}
    rest |= {"errors": "absorb"} if form.get("absorb") == CHECKED else {}
    return {kind: form.get("service", "").strip()} | {name: value for name, value in rest.items() if value}


def named_lines(text: str, place: str) -> dict[str, str]:
    """Parse lines of ``name: value``; all values are text."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise InvalidForm([DocumentError(place, f"{line[:40]}: enter one argument per line, as `name: value`")])
        found[name.strip()] = value.strip()
    return found


# ---- and back --------------------------------------------------------------------------------------------------------


def rule_fields(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return a rule in the file format as form fields."""
    fields = dict.fromkeys(FIELDS, "") | {
        "name": entry.get("name", ""),
        "role": entry.get("role", RuleRole.ANY),
        "positions": ", ".join(f"{role}={position}" for role, position in entry.get("positions", {}).items()),
        "description": entry.get("description", ""),
        "enabled": CHECKED if entry.get("enabled", True) else "",
    }
    more: dict[str, Any] = {}
    condition, action = _condition_fields(entry.get("when")), _action_fields(entry.get("then"))
    if condition is None:
        more["when"] = entry.get("when")
    if action is None:
        more["then"] = entry.get("then")
    fields |= condition or {"operator": WRITTEN}
    fields |= action or {"action": WRITTEN}
    return fields | {"more": to_yaml_text(more)}


def _condition_fields(when: Any) -> dict[str, str] | None:
    """Return the condition as form fields, or None if they cannot express it."""
    if when == ALWAYS:
        return {"operator": ALWAYS}
    [(operator, compared)] = when.items() if isinstance(when, dict) and len(when) == 1 else [("", None)]
    if operator not in set(Comparing) or not isinstance(compared, dict):
        return None
    rest = dict(compared)
    where = [(name, rest.pop(name)) for name in list(rest) if name in set(MessageSection)]
    values = rest.pop("values", None) if operator == Comparing.EQUALS_ONE_OF else [rest.pop("value", "")]
    kind = rest.pop("as", ValueType.STRING.value)
    if rest or len(where) != 1 or not isinstance(values, list) or not all(map(_is_plain, values)):
        return None
    if operator == Comparing.EQUALS_ONE_OF and "" in values:  # empty lines are ignored
        return None
    return {
        "operator": operator, "where": where[0][0], "path": where[0][1], "type": kind, "value": "\n".join(values)
    }  # fmt: skip


def _action_fields(then: Any) -> dict[str, str] | None:
    if not isinstance(then, list) or len(then) != 1:
        return None
    rest = dict(then[0])
    kind = next((name for name in rest if name in set(ActionKind)), "")
    named = rest.pop(kind, "")
    if kind == ActionKind.STOP_RULE_EVALUATION and not rest:
        return {"action": kind}
    arguments = rest.get("arguments", {})
    if kind not in INCLUDING or not all(map(_is_plain, [*arguments, *arguments.values()])):
        return None
    return {
        "action": kind, "service": named, "topic": rest.get("topic", ""),
        "arguments": "\n".join(f"{name}: {value}" for name, value in arguments.items()),
        "pays": CHECKED if rest.get("pays") else "", "isolate": CHECKED if rest.get("isolate") else "",
        "absorb": CHECKED if rest.get("errors") == "absorb" else "",
    }  # fmt: skip


def _is_plain(text: Any) -> bool:
    """Return True if a line of the form can hold the text."""
    return isinstance(text, str) and text == text.strip() and len(text.splitlines()) <= 1
