"""A send port as a form: target, envelope and common criteria; everything else as text.

Rule: the result of a form is checked like the same section of a file, in the current network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.console.form_values import InvalidForm, parse_yaml_text, to_yaml_text
from postroad.console.page_guards import Form
from postroad.core.configuration.document import DocumentError

TEXTS = ("sendsTo", "standard", "sender", "receiver")
NUMBERS = ("count", "bytes", "ageSeconds", "idleSeconds")
FIELDS = (*TEXTS, *NUMBERS, "cron", "more")
PLACES = {f"/batching/{name}": name for name in FIELDS} | {f"/{name}": name for name in FIELDS}


def send_port_entry(form: Form) -> dict[str, Any]:
    """Return the ``batching`` section of a form; raises InvalidForm if its text is invalid."""
    entry = parse_yaml_text(form.get("more", ""))
    twice = sorted(entry.keys() & set(FIELDS))
    if twice:
        raise InvalidForm([DocumentError("", f"{', '.join(twice)} has its own field above; remove it from the text")])
    entry |= {name: form[name].strip() for name in TEXTS if form.get(name, "").strip()}
    entry |= {name: _number(form[name].strip(), name) for name in NUMBERS if form.get(name, "").strip()}
    schedules = [line.strip() for line in form.get("cron", "").splitlines() if line.strip()]
    return entry | ({"cron": schedules} if schedules else {})


def send_port_fields(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return a send port in the file format as form fields."""
    rest = dict(entry)
    fields = {name: str(rest.pop(name, "") or "") for name in (*TEXTS, *NUMBERS)}
    return fields | {"cron": "\n".join(rest.pop("cron", ())), "more": to_yaml_text(rest)}


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InvalidForm(
            [DocumentError(f"/{name}", "enter a whole number, or leave the field empty to disable this criterion")]
        )
    return int(text)
