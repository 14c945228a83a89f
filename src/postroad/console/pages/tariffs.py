"""Tariffs and the books, for operators: what holds for whom, and all of it as text that is checked and applied whole.

Kept rule: the text goes the way of a network file: what would change is shown before, and carried out in one entry or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.editing import Faulty, from_text, of_refusal, plain_faults, to_text
from postroad.console.guarding import form_of, go, is_part, member_form, member_page, show
from postroad.core.billing.calendar import day_of
from postroad.core.billing.tariffs import holders, in_force
from postroad.core.configuration.billing import exported_billing
from postroad.core.configuration.document import Fault
from postroad.core.configuration.steps import Plan
from postroad.core.configuration.tariffs import tariff_entry
from postroad.core.model.billing import Tariff
from postroad.errors import Refused
from postroad.flow.administration import denied
from postroad.flow.administration_configuration import apply, planned
from postroad.flow.object_versions import Version, versions_of

SECTION = "/billing"
TEXT_MOST = 1 << 20  # characters; operators alone write them
CHANGED = "Somebody has changed the tariffs since you opened this page; open it again, and repeat what you want"


async def show_tariffs(request: Request) -> Response:
    console = _for_operators(request)
    month = f"{day_of(console.now_us, console.directory.books.time_zone):%Y-%m}"
    tariffs = sorted(console.directory.tariffs, key=lambda one: one.key)
    holding = in_force(tariffs, month)
    values = {
        "month": month,
        "books": console.directory.books,
        "rows": [await _row(console, one, one in holding) for one in tariffs],
        "holders": sorted(holders(tariffs, month).items()),
    }
    return show(request, "tariffs.html", values)


async def edit_tariffs(request: Request) -> Response:
    text = _text(_for_operators(request))
    return _form(request, text, _seen(text))


async def check(request: Request) -> Response:
    """What would change, or what is wrong; asked for while somebody types, or by those without scripts."""
    _for_operators(request)
    form = await form_of(request)
    plan, faults = await _planned(request, form.get("text", ""))
    if is_part(request):
        return show(request, "tariffs_plan.html", {"plan": plan, "faults": faults})
    return _form(request, form.get("text", ""), form.get("seen", ""), faults, plan)


async def save(request: Request) -> Response:
    console, form = _for_operators(request), await form_of(request)
    text, seen = form.get("text", ""), form.get("seen", "")
    if seen != _seen(_text(console)):
        return _form(request, text, seen, [Fault("", CHANGED)])
    plan, faults = await _planned(request, text)
    if plan is None:
        return _form(request, text, seen, faults)
    try:
        await apply(console.administration, caller_of(request), _document(text), prune=True, version=plan.version)
    except Refused as refusal:  # somebody was quicker; what is written here must not be lost
        return _form(request, text, seen, of_refusal(refusal))
    return go("/tariffs", "What you wrote holds now." if plan.steps else "Nothing was different.")


async def _planned(request: Request, text: str) -> tuple[Plan | None, list[Fault]]:
    try:
        plan = await planned(console_of(request).administration, caller_of(request), _document(text), prune=True)
    except Faulty as faulty:
        return None, faulty.faults
    except Refused as refusal:
        return None, plain_faults(
            [one._replace(pointer=one.pointer.removeprefix(SECTION)) for one in of_refusal(refusal)]
        )
    return plan, []


def _document(text: str) -> dict[str, Any]:
    """The document that says this of billing and nothing else, so that pruning can only touch tariffs."""
    section = from_text(text, TEXT_MOST)
    others = sorted(section.keys() - {"books", "tariffs"})
    if others:
        raise Faulty([Fault("", f"Here stand books and tariffs; {', '.join(map(str, others))} is kept elsewhere")])
    return {"postroad": 1, "organizations": {}, "billing": {"tariffs": {}} | section}


def _form(request: Request, text: str, seen: str, faults: Sequence[Fault] = (), plan: Plan | None = None) -> Response:
    values = {"text": text, "seen": seen, "faults": faults, "plan": plan}
    return show(request, "tariffs_form.html", values, 422 if faults else 200)


async def _row(console: Console, tariff: Tariff, holds: bool) -> tuple[Tariff, bool, str, list[Version]]:
    written = to_text(tariff_entry(tariff, console.directory))
    return tariff, holds, written, await versions_of(console.network, "tariff", tariff.key)


def _text(console: Console) -> str:
    return to_text(exported_billing(console.directory))


def _seen(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _for_operators(request: Request) -> Console:
    if not caller_of(request).operator:
        raise denied("Tariffs are for the network's operators; what your organization pays stands under Billing")
    return console_of(request)


ROUTES = (
    member_page("/tariffs", show_tariffs),
    member_page("/tariffs/edit", edit_tariffs),
    member_form("/tariffs/edit", save),
    member_form("/tariffs/check", check),
)
