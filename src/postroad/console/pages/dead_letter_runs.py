"""Resending or dropping all dead letters of a group: preview, then page by page with progress.

Rules: a run ends with the letters that existed when it began. A refused letter does not hold up the others. A run can
be left at any time: every letter is processed completely or not at all, and a new run continues with the rest. With
scripts the next page loads by itself, without them the person presses a button; it is the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import Form, Page, is_part, member_form, member_page, read_form, render_page
from postroad.console.pages.dead_letters import MAX_REASON, read_group
from postroad.core.delivery.dead_letters import MEANING, Cause
from postroad.core.model.dead_letter_actions import LETTER_ACTIONS, LetterAction
from postroad.flow.administration import dead_letters as dealing
from postroad.flow.administration import dead_letters as reading

STEP = 50  # letters dealt with by one request
SAMPLE = 10  # maximum letters that a preview reads
MAX_LISTED = 5  # refusals that are reported in words
NUMBERS = ("total", "done", "refused", "after", "upto")
TEMPLATES = {"resend": "dead_letters_resend.html", "drop": "dead_letters_drop.html"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRun:
    """The progress of a run, carried in its form; positions are pseudonyms."""

    action: LetterAction
    service: str
    cause: Cause
    reason: str
    total: int
    done: int = 0
    refused: int = 0
    after: int = 0
    upto: int = reading.MAX_NUMBER
    is_over: bool = False
    told: tuple[str, ...] = ()  # why some of this page were refused

    @property
    def act(self) -> str:
        return self.action.name

    @property
    def seen(self) -> int:
        return self.done + self.refused

    @property
    def wish(self) -> reading.DeadLetterSearch:
        return reading.DeadLetterSearch(
            service=self.service, cause=self.cause, after=self.after, upto=self.upto, limit=STEP
        )


def preview_page(action: LetterAction) -> Page:
    async def preview(request: Request) -> Response:
        return await _preview_run(request, action, *read_group(request.query_params))

    return preview


def run_page(action: LetterAction) -> Page:
    async def deal(request: Request) -> Response:
        return await _run_next(request, action)

    return deal


async def _run_next(request: Request, action: LetterAction) -> Response:
    """Handle the next page of a run."""
    form = await read_form(request)
    run = _run(request, action, form)
    if action.needs_reason and not run.reason:
        fault = "Enter a reason for dropping them; it is recorded."
        return await _preview_run(request, action, run.service, run.cause, fault)
    run = await _advance_run(request, run)
    template = "dead_letters_run_part.html" if is_part(request) else "dead_letters_run.html"
    pseudonyms = console_of(request).network.tokens.pseudonyms
    return render_page(
        request, template, {"run": run, "after": pseudonyms.number(run.after), "upto": pseudonyms.number(run.upto)}
    )


async def _advance_run(request: Request, run: DeadLetterRun) -> DeadLetterRun:
    network, caller = console_of(request).network, caller_of(request)
    page = await dealing.act_on_many(network, caller, run.action, run.wish, reason=run.reason)
    refusals = [one.refusal.detail for one in page.dealt if one.refusal is not None]
    return replace(
        run,
        done=run.done + len(page.dealt) - len(refusals),
        refused=run.refused + len(refusals),
        after=page.next_after or 0,
        upto=page.upto,
        is_over=page.next_after is None,
        told=tuple(sorted(set(refusals))[:MAX_LISTED]),
    )


async def _preview_run(request: Request, action: LetterAction, service: str, cause: Cause, fault: str = "") -> Response:
    network, caller = console_of(request).network, caller_of(request)
    wish = reading.DeadLetterSearch(service=service, cause=cause, limit=SAMPLE)
    counted = await reading.count(network, caller, wish)
    values = {
        "service": service,
        "cause": cause,
        "meaning": MEANING[cause],
        "counted": counted,
        "sample": await dealing.preview(network, caller, wish),
        "may_be_twice": cause in (Cause.NO_ANSWER, Cause.BAD_ANSWER, Cause.NOT_ACKNOWLEDGED),
        "fault": fault,
    }
    return render_page(request, TEMPLATES[action.name], values, 422 if fault else 200)


def _run(request: Request, action: LetterAction, form: Form) -> DeadLetterRun:
    service, cause = read_group(form)
    pseudonyms, numbers = console_of(request).network.tokens.pseudonyms, _numbers(form)
    return DeadLetterRun(
        action=action,
        service=service,
        cause=cause,
        reason=form.get("reason", "").strip()[:MAX_REASON],
        total=numbers["total"],
        done=numbers["done"],
        refused=numbers["refused"],
        after=pseudonyms.real_number(numbers["after"]),
        upto=pseudonyms.real_number(numbers["upto"]) or reading.MAX_NUMBER,
    )


def _numbers(form: Mapping[str, str]) -> dict[str, int]:
    """Return the numbers of the form; invalid values are omitted, which restarts the run."""
    texts = {name: form.get(name, "") for name in NUMBERS}
    fits = {name: text.isascii() and text.isdigit() and len(text) < 20 for name, text in texts.items()}
    return {name: min(int(text), reading.MAX_NUMBER) if fits[name] else 0 for name, text in texts.items()}


ROUTES = tuple(
    route
    for action in LETTER_ACTIONS.values()
    for route in (
        member_page(f"/dead-letters/group/{action.name}", preview_page(action)),
        member_form(f"/dead-letters/group/{action.name}", run_page(action)),
    )
)
