"""The message pages: lists, and for each message its status, route, history, and contents at every stop."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import Console, caller_of, console_of
from postroad.console.page_guards import member_page, render_page
from postroad.console.rendering import HEADERS
from postroad.console.service_names import MAX_OFFERED
from postroad.console.stop_contents import StopContents, load_stop_contents
from postroad.core.audit.history.copy_status import ATTEMPTS, list_copy_statuses, refused_post_status
from postroad.core.audit.pictures.explanation_text import explanation_text
from postroad.core.audit.pictures.route_picture import explanation_svg, find_copy_positions
from postroad.core.audit.pictures.waterfall import FAILURES, waterfall_svg
from postroad.core.billing.quotes import Quote
from postroad.core.model.billing import UseKind
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Service
from postroad.core.model.history import MessageHistory, shown_state
from postroad.core.model.sizes import content_size
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.messages import contents
from postroad.flow.administration.messages import explanations as explaining
from postroad.flow.administration.messages import message_list as reading
from postroad.flow.administration.messages.costs import quote_costs
from postroad.flow.administration.messages.message_list import CopyOutcomes
from postroad.flow.administration.services import list_owned_services

PAGE = 50
MAX_COPIES = 50
MAX_OTHERS = 200
BOXES = ("received", "sent", "refused")
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # of the picture itself, which is shown as an image
ATTACHED = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox; default-src 'none'"}


async def list_messages(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    asked = {name: request.query_params.get(name, "")[:200] for name in ("service", "topic", "state")}
    box = request.query_params.get("box", "")
    box = box if box in BOXES else "received"
    wish = reading.MessageSearch(box=box, before=_before(request), limit=PAGE, **asked)
    page = await reading.browse(console.network, caller, wish)
    following = asked | {"box": box, "before": str(page.next_before)} if page.next_before is not None else None
    values = {
        "box": box,
        "boxes": BOXES,
        "asked": asked,
        "rows": [_row(row, console.directory, fates) for row, fates in await add_outcomes(console, caller, page.rows)],
        "following": f"?{urlencode(following)}" if following and page.rows else "",
        "services": _choice(list_owned_services(caller, console.directory), asked["service"]),
        "states": [state.name.lower() for state in DeliveryState],
    }
    return render_page(request, "messages.html", values)


def _choice(services: list[Service], asked: str) -> list[str]:
    """Return the addresses to choose from, up to a limit, including the selected one."""
    known = sorted([one.address for one in services], key=str.casefold)[:MAX_OFFERED]
    return known if not asked or asked in known else [asked, *known]


async def add_outcomes(
    console: Console, caller: Caller, rows: list[reading.Row]
) -> list[tuple[reading.Row, CopyOutcomes]]:
    """Add to each row what became of it; for sent messages, of each copy."""
    sent = [row["message"].session for row in rows if "message" in row and "state" not in row]
    known = await reading.load_outcomes(console.network, caller, sent)
    return [(row, _outcomes_of(row, known)) for row in rows]


def _outcomes_of(row: reading.Row, sent: dict[str, CopyOutcomes]) -> CopyOutcomes:
    if "state" in row:
        return [(shown_state(DeliveryState(row["state"]).name.lower()), 1)]
    return sent[row["message"].session] if "message" in row else [("refused", 1)]


async def show_message(request: Request) -> Response:
    console, caller, session = console_of(request), caller_of(request), request.path_params["session"]
    try:
        history = await reading.load_history(console.network, caller, session)
    except Refused as refusal:
        if refusal.code != "not-found":
            raise
        refused = await reading.find_refusal(console.network, caller, session)
        where = refused_post_status(refused["code"], refused["detail"], refused["at_us"])
        return render_page(request, "message_refused.html", {"row": refused, "where": where})
    whole = next(one for one in history.messages if one.session == history.asked)
    message = _foremost(whole)
    values = {
        "session": session,
        "message": message,
        "left_out": len(whole.copies) - len(message.copies),
        "fates": reading.list_outcomes(whole),
        "history": history,
        "others": [one for one in history.messages if one is not whole][:MAX_OTHERS],
        "statuses": list_copy_statuses(message, console.directory, console.now_us),
        "costs": [_cost(one, console.directory) for one in await quote_costs(console.network, caller, session)],
        "has_tariffs": bool(console.directory.tariffs),
        "pictures": _pictures(session),
        "may_read": not caller.operator,
        "attempts": ATTEMPTS,
        "failures": sorted(FAILURES),
    }
    return render_page(request, "message.html", values)


def _foremost(message: MessageHistory) -> MessageHistory:
    """Return the message with as many copies as a page can show, undelivered copies first."""
    if len(message.copies) <= MAX_COPIES:
        return message
    ranked = sorted(message.copies, key=lambda copy: copy.state == "delivered")
    return replace(message, copies=ranked[:MAX_COPIES])


async def show_contents(request: Request) -> Response:
    """Show the contents at each stop and the changes between stops; the access is recorded."""
    console, caller, session = console_of(request), caller_of(request), request.path_params["session"]
    message = await reading.load_message(console.network, caller, session)
    looked: list[StopContents] = await load_stop_contents(console.network, caller, session, message)
    return render_page(request, "message_contents.html", {"session": session, "message": message, "looked": looked})


async def show_explanation(request: Request) -> Response:
    console, caller, session = console_of(request), caller_of(request), request.path_params["session"]
    explanation = await explaining.explain_stored(console.network, caller, session)
    return render_page(request, "message_explained.html", {"session": session, "text": explanation_text(explanation)})


async def route_picture(request: Request) -> Response:
    console, caller, session = console_of(request), caller_of(request), request.path_params["session"]
    explanation = await explaining.explain_stored(console.network, caller, session)
    history = await reading.load_trace(console.network, caller, session)
    here = find_copy_positions(_foremost(next(one for one in history.messages if one.session == history.asked)))
    shown = tuple([one for one in explanation.copies if one.recipient in here or len(explanation.copies) <= MAX_COPIES])
    return _picture(explanation_svg(replace(explanation, copies=shown[:MAX_COPIES]), here))


async def life_picture(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    message = await reading.load_message(console.network, caller, request.path_params["session"])
    return _picture(waterfall_svg(_foremost(message), console.now_us))


async def download(request: Request) -> Response:
    """Return a part as a download, never displayed by the browser."""
    console, caller, asked = console_of(request), caller_of(request), request.path_params
    found = await contents.read_part(console.network, caller, asked["session"], asked["part"])
    return Response(found.data, headers=HEADERS | ATTACHED, media_type="text/plain")


async def download_at_stop(request: Request) -> Response:
    console, caller, asked = console_of(request), caller_of(request), request.path_params
    session, delivery, part = asked["session"], asked["delivery"], asked["part"]
    found = await contents.read_part_at_stop(console.network, caller, session, delivery, part)
    return Response(found.data, headers=HEADERS | ATTACHED, media_type="text/plain")


def _picture(svg: str) -> Response:
    return Response(svg, headers=HEADERS | {"Content-Security-Policy": PICTURE_POLICY}, media_type="image/svg+xml")


def _pictures(session: str) -> dict[str, str]:
    return {"route": f"/messages/{session}/route.svg", "life": f"/messages/{session}/life.svg"}


def _row(row: reading.Row, directory: Directory, fates: CopyOutcomes) -> dict[str, object]:
    message = row.get("message")
    if message is None:
        return {
            "session": row["session"], "at_us": row["at_us"], "from": directory.address_named(row['sender']),
            "to": list(row["refusal"].named), "topic": row["refusal"].topic, "handle": row["handle"],
            "size": content_size(row["refusal"]), "fates": fates, "note": row["code"],
        }  # fmt: skip
    receivers = [row["recipient"]] if "recipient" in row else [copy.named for copy in message.copies]
    return {
        "session": message.session, "at_us": message.at_us, "from": directory.address_named(message.sender),
        "to": [directory.address_named(one) for one in receivers], "topic": message.topic, "handle": message.handle,
        "size": content_size(message), "fates": fates, "note": "",
    }  # fmt: skip


def _cost(quote: Quote, directory: Directory) -> dict[str, object]:
    amount = Decimal(abs(quote.micros)).scaleb(-6).normalize()
    return {
        "what": "the message"
        if quote.kind is UseKind.MESSAGE
        else f"processing by {directory.address_named(quote.service)}",
        "organization": quote.organization,
        "verb": "is paid" if quote.micros < 0 else "pays",
        "amount": f"{amount:f} {quote.currency}",
        "is_exact": quote.is_exact,
        "tariff": quote.tariff,
    }


def _before(request: Request) -> int:
    text = request.query_params.get("before", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else reading.NEWEST


ROUTES = (
    member_page("/messages", list_messages),
    member_page("/messages/{session}", show_message),
    member_page("/messages/{session}/contents", show_contents),
    member_page("/messages/{session}/explanation", show_explanation),
    member_page("/messages/{session}/route.svg", route_picture),
    member_page("/messages/{session}/life.svg", life_picture),
    member_page("/messages/{session}/parts/{part:path}", download),
    member_page("/messages/{session}/stops/{delivery:int}/parts/{part:path}", download_at_stop),
)
