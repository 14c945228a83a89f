"""The JSON resources as one ASGI application; the HTTP front hands it everything but the message endpoints.

Rule: every error is returned as a problem (``problem.py``), including errors of the framework. Internal errors are
logged under an id, and their text is never returned.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from postroad.adapters.nodes.own import LoneNode
from postroad.api.pages import PAGES
from postroad.api.pagination import Cursors
from postroad.api.problem import CONTENT_TYPE, HttpProblem, problem, problem_of
from postroad.api.resources import (
    accounts,
    assets,
    batch_actions,
    batches,
    billing,
    bindings,
    configuration,
    confirmations,
    cookies,
    credentials,
    dead_letters,
    explanations,
    level,
    members,
    message_search,
    messages,
    models,
    notifications,
    organizations,
    provisionings,
    pushes,
    rules,
    secrets,
    services,
    status,
    stop_contents,
    support,
    trials,
)
from postroad.api.resources.context import ApiContext, answer
from postroad.api.resources.openapi import openapi_document
from postroad.api.resources.openapi_messages import FAST_PATHS, LEASING
from postroad.api.resources.response_completion import ResponseCompletion
from postroad.api.resources.route_guards import OpenRoute
from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.settings import Settings
from postroad.core.admission.rate_limit import RateLimiter
from postroad.core.configuration.document import plain_error_text, pointer
from postroad.core.model.directory import OrganizationLimits
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.administration.base import NO_JUDGES, Administration, AssetCheck, Judges, skip_asset_check
from postroad.flow.administration.registration import RegistrationMode, RegistrationPolicy
from postroad.flow.administration.try_out.rules import Transform
from postroad.flow.network import Network
from postroad.flow.stages.body_reader import BodyReader
from postroad.ports import NodeRegistry, Passwords, Validator

Pages = Callable[[Administration], ASGIApp]  # the pages for browsers, built with the administration that they use
RESOURCES = ("/v1/", "/soap", "/as2/")
FOR_PROGRAMS = frozenset({"/v1", *FAST_PATHS})
REQUESTS_PER_S = 100  # for each organization; messages have their own limit
ROUTERS = (
    accounts.opened, accounts.router, organizations.router, members.router, confirmations.router, credentials.router,
    services.router, pushes.router, secrets.router,
    assets.router, assets.contents, rules.router, rules.switching, bindings.router, bindings.trying,
    models.router, models.pieces,
    cookies.router, provisionings.router,
    explanations.asking, explanations.router, trials.router,
    messages.router, message_search.router, messages.payloads, stop_contents.router, stop_contents.payloads,
    dead_letters.router, batches.router, batch_actions.router,
    billing.router, support.router, notifications.router,
    configuration.opened, configuration.router, level.router, status.router, status.health,
)  # fmt: skip


ROUTES: tuple[BaseRoute, ...] = tuple(route for router in ROUTERS for route in router.routes)


def build_application(
    network: Network,
    authenticator: Authenticator,
    passwords: Passwords,
    settings: Settings,
    *,
    requests_per_s: int = REQUESTS_PER_S,
    asset_faults: AssetCheck = skip_asset_check,
    transform: Transform | None = None,
    judges: Judges = NO_JUDGES,
    validator: Validator | None = None,
    own_address: OwnAddress | None = None,
    reader: BodyReader | None = None,
    pages: Pages | None = None,
    require_ready: Callable[[], None] = lambda: None,
    nodes: NodeRegistry | None = None,
) -> FastAPI:
    """Build the application for a running network."""
    app = FastAPI(
        title="postroad", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=None
    )
    app.state.api = ApiContext(
        network=network,
        authenticator=authenticator,
        administration=Administration(
            network,
            passwords,
            asset_faults,
            judges,
            open_support_requests=settings.open_support_requests,
            registration=registration_of(settings),
        ),
        cursors=Cursors(_cursor_key(network, settings)),
        limiter=RateLimiter(requests_per_s),
        own_address=own_address or OwnAddress(settings),
        posts_per_s=settings.posts_per_s,
        message_bytes=settings.message_bytes,
        transform=transform,
        validator=validator,
        reader=reader,
        warehouse_folder=settings.warehouse_folder,
        has_console=pages is not None,
        require_ready=require_ready,
        nodes=nodes or LoneNode(network.clock.now_us),
    )
    app.router.routes.extend((*ROUTES, *PAGES))
    if pages is not None:
        _serve_pages(app, pages(app.state.api.administration))
    _serve_document(app)
    _answer_errors(app)
    app.add_middleware(ResponseCompletion)
    return app


def _serve_pages(app: FastAPI, pages: ASGIApp) -> None:
    """Serve paths without a resource as pages for people; requests for JSON get a problem."""
    missing = app.router.default

    async def elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_resource = scope["type"] != "http" or path in FOR_PROGRAMS or path.startswith(RESOURCES)
        await (missing if is_resource else pages)(
            dict(scope), receive, send
        )  # they put themselves in as the application

    app.router.default = elsewhere


def registration_of(settings: Settings) -> RegistrationPolicy:
    """Return the rules by which organizations register, from the settings."""
    return RegistrationPolicy(
        mode=RegistrationMode(settings.registration),
        posts_per_s=settings.new_posts_per_s,
        limits=OrganizationLimits(stored_bytes=settings.new_stored_bytes, queued_messages=settings.new_queued_messages),
    )


def _cursor_key(network: Network, settings: Settings) -> bytes:
    """Return the key for cursors; derived from the network's secret, if set, so that all nodes accept them after a restart."""
    if not settings.secret:
        return network.randomness.bytes(32)
    return blake2b(bytes.fromhex(settings.secret), digest_size=32, person=b"cursors").digest()


def _serve_document(app: FastAPI) -> None:
    document: dict[str, Any] = {}

    async def openapi() -> Response:
        """This document."""
        if not document:
            document.update(openapi_document(ROUTES))
        return answer(document)

    app.router.add_api_route("/openapi.json", openapi, route_class_override=OpenRoute, include_in_schema=False)


def _answer_errors(app: FastAPI) -> None:
    app.add_exception_handler(Refused, _answering(problem_of))
    app.add_exception_handler(Unavailable, _answering(problem_of))
    app.add_exception_handler(RequestValidationError, _answering(_of_validation))
    app.add_exception_handler(HTTPException, _of_framework)


def _answering(make: Callable[[Any], HttpProblem]) -> Callable[[Request, Exception], Response]:
    def answered(request: Request, error: Exception) -> Response:
        return _response(make(error))

    return answered


def _response(found: HttpProblem) -> Response:
    return Response(found.body, found.status, found.headers, media_type=CONTENT_TYPE)


def _of_validation(error: RequestValidationError) -> HttpProblem:
    """Return a problem with the location of each error, without the values, since they may be secrets."""
    faults = []
    for fault in error.errors():
        source, *steps = fault["loc"]
        place = {"pointer": pointer(*steps)} if source == "body" else {"parameter": ".".join(map(str, steps))}
        faults.append(place | {"detail": plain_error_text(fault["msg"])})
    first = faults[0]
    return problem(
        "value.invalid",
        f"{first.get('pointer') or first.get('parameter') or 'The body'}: {first['detail']}",
        errors=faults,
    )


def _of_framework(request: Request, error: Exception) -> Response:
    """Return a problem for refusals by Starlette and FastAPI: unknown path or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    allowed = list_allowed_methods(request)
    if allowed and status in (404, 405):
        detail = f"Here you can use {', '.join(allowed)}"
        return _response(problem("method.not-allowed", detail, headers={"Allow": ", ".join(allowed)}))
    if status == 404:
        return _response(problem("not-found", "This address does not exist"))
    code = next((code for code, refusal in REFUSALS.items() if refusal.status == status), "request.malformed")
    return _response(problem(code, "The request is malformed"))


def _fast_path(path: str) -> str:
    """Return the path in the form of ``FAST_PATHS``."""
    parent, _, last = path.rpartition("/")
    return "/as2/{organization}" if parent == "/as2" and last else path


def list_allowed_methods(request: Request) -> list[str]:
    """Return all methods that routes support for this path."""
    methods = set(FAST_PATHS.get(_fast_path(request.url.path), ()))
    for route in request.app.routes:
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(request.url.path):
            methods |= route.methods
    has_head = "GET" in methods and request.url.path != LEASING
    return sorted(methods | {"HEAD"} if has_head else methods)
