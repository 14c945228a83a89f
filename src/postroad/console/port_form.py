"""A send port as a form: where it sends, what its envelope says and the usual criteria; everything else as text.

Kept rule: what a form describes is checked as the same section of a file would be, in the network as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.console.editing import Faulty, from_text, to_text
from postroad.console.guarding import Form
from postroad.core.configuration.document import Fault

TEXTS = ("sendsTo", "standard", "sender", "receiver")
NUMBERS = ("count", "bytes", "ageSeconds", "idleSeconds")
FIELDS = (*TEXTS, *NUMBERS, "cron", "more")
PLACES = {f"/batching/{name}": name for name in FIELDS} | {f"/{name}": name for name in FIELDS}


def entry_in(form: Form) -> dict[str, Any]:
    """The section ``batching`` that a form describes; raises Faulty where its text is none."""
    entry = from_text(form.get("more", ""))
    twice = sorted(entry.keys() & set(FIELDS))
    if twice:
        raise Faulty([Fault("", f"{', '.join(twice)} has a field of its own above; take it out of the text")])
    entry |= {name: form[name].strip() for name in TEXTS if form.get(name, "").strip()}
    entry |= {name: _number(form[name].strip(), name) for name in NUMBERS if form.get(name, "").strip()}
    schedules = [line.strip() for line in form.get("cron", "").splitlines() if line.strip()]
    return entry | ({"cron": schedules} if schedules else {})


def fields_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """A send port, as files write it, in the fields of the form."""
    rest = dict(entry)
    fields = {name: str(rest.pop(name, "") or "") for name in (*TEXTS, *NUMBERS)}
    return fields | {"cron": "\n".join(rest.pop("cron", ())), "more": to_text(rest)}


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise Faulty([Fault(f"/{name}", "write a whole number; leave it empty where it is no criterion")])
    return int(text)
