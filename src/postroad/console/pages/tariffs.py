"""The tariff pages for operators: current tariffs, and all billing settings as text that is applied completely.

Rule: the text is handled like a configuration file: changes are shown first, and applied in one entry or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.form_values import InvalidForm, parse_yaml_text, readable_errors, refusal_errors, to_yaml_text
from postroad.console.page_guards import is_part, member_form, member_page, read_form, redirect, render_page
from postroad.core.billing.calendar import day_of
from postroad.core.billing.tariffs import list_in_force, tariffs_by_organization
from postroad.core.configuration.change_plan import ConfigurationPlan
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.tariffs import tariff_entry
from postroad.core.configuration.sections.billing import exported_billing
from postroad.core.model.billing import Tariff
from postroad.errors import Refused
from postroad.flow.administration.base import permission_denied
from postroad.flow.administration.configuration import apply, plan_configuration
from postroad.flow.administration.versions import ConfigurationVersion, list_versions

SECTION = "/billing"
MAX_TEXT = 1 << 20  # characters; operators alone write them
CHANGED = "The tariffs have changed since you opened this page; reload it, and repeat your change"


async def show_tariffs(request: Request) -> Response:
    console = _require_operator(request)
    month = f"{day_of(console.now_us, console.directory.books.time_zone):%Y-%m}"
    tariffs = sorted(console.directory.tariffs, key=lambda one: one.key)
    holding = list_in_force(tariffs, month)
    values = {
        "month": month,
        "books": console.directory.books,
        "rows": [await _row(console, one, one in holding) for one in tariffs],
        "holders": sorted(tariffs_by_organization(tariffs, month).items()),
    }
    return render_page(request, "tariffs.html", values)


async def edit_tariffs(request: Request) -> Response:
    text = _text(_require_operator(request))
    return _form(request, text, _digest_of(text))


async def check(request: Request) -> Response:
    """Return the planned changes or the errors, while the person types or on request."""
    _require_operator(request)
    form = await read_form(request)
    plan, faults = await _planned(request, form.get("text", ""))
    if is_part(request):
        return render_page(request, "tariffs_plan.html", {"plan": plan, "faults": faults})
    return _form(request, form.get("text", ""), form.get("seen", ""), faults, plan)


async def save(request: Request) -> Response:
    console, form = _require_operator(request), await read_form(request)
    text, seen = form.get("text", ""), form.get("seen", "")
    if seen != _digest_of(_text(console)):
        return _form(request, text, seen, [DocumentError("", CHANGED)])
    plan, faults = await _planned(request, text)
    if plan is None:
        return _form(request, text, seen, faults)
    try:
        await apply(console.administration, caller_of(request), _document(text), prune=True, version=plan.version)
    except Refused as refusal:  # someone was quicker; what is written here must not be lost
        return _form(request, text, seen, refusal_errors(refusal))
    return redirect("/tariffs", "Saved. The changes are in effect." if plan.steps else "No changes.")


async def _planned(request: Request, text: str) -> tuple[ConfigurationPlan | None, list[DocumentError]]:
    try:
        plan = await plan_configuration(
            console_of(request).administration, caller_of(request), _document(text), prune=True
        )
    except InvalidForm as faulty:
        return None, faulty.faults
    except Refused as refusal:
        return None, readable_errors(
            [one._replace(pointer=one.pointer.removeprefix(SECTION)) for one in refusal_errors(refusal)]
        )
    return plan, []


def _document(text: str) -> dict[str, Any]:
    """Return a configuration document with the billing section only, so that pruning can only affect tariffs."""
    section = parse_yaml_text(text, MAX_TEXT)
    others = sorted(section.keys() - {"books", "tariffs"})
    if others:
        raise InvalidForm(
            [
                DocumentError(
                    "",
                    f"This page accepts only billing settings and tariffs; {', '.join(map(str, others))} is configured elsewhere",
                )
            ]
        )
    return {"postroad": 1, "organizations": {}, "billing": {"tariffs": {}} | section}


def _form(
    request: Request, text: str, seen: str, faults: Sequence[DocumentError] = (), plan: ConfigurationPlan | None = None
) -> Response:
    values = {"text": text, "seen": seen, "faults": faults, "plan": plan}
    return render_page(request, "tariffs_form.html", values, 422 if faults else 200)


async def _row(console: Console, tariff: Tariff, holds: bool) -> tuple[Tariff, bool, str, list[ConfigurationVersion]]:
    written = to_yaml_text(tariff_entry(tariff, console.directory))
    return tariff, holds, written, await list_versions(console.network, "tariff", tariff.key)


def _text(console: Console) -> str:
    return to_yaml_text(exported_billing(console.directory))


def _digest_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _require_operator(request: Request) -> Console:
    if not caller_of(request).operator:
        raise permission_denied(
            "Tariffs are for the network's operators; what your organization pays is shown under Billing"
        )
    return console_of(request)


ROUTES = (
    member_page("/tariffs", show_tariffs),
    member_page("/tariffs/edit", edit_tariffs),
    member_form("/tariffs/edit", save),
    member_form("/tariffs/check", check),
)
