"""A provider's web site, in short: its own customers with their passwords, and the page to which the network sends them.

The page says who wants to be connected, since anyone could have sent a customer there. ``accepted`` is called once the customer
has logged in, with the visit and the customer's account; it is where a provider confirms. After a wrong password the
page shows an error, and the network is not informed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from hmac import compare_digest
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from postroad.client import ProvisioningRedirect, Refused

Accepted = Callable[[ProvisioningRedirect, str], None]
Inspect = Callable[[str, str], dict[str, Any]]  # who wants to be known to us
Customers = Mapping[str, tuple[str, str]]  # by name: password and account


class CustomerSite:
    def __init__(self, name: str, service: str, customers: Customers) -> None:
        self.name = name
        self.service = service
        self.customers = customers
        self.network = ""  # known once the network runs
        self.accepted: Accepted = lambda visit, account: None
        self.inspect: Inspect = lambda gcid, token: {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _pages_of(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def open(self, network: str, inspect: Inspect, accepted: Accepted) -> None:
        self.network, self.inspect, self.accepted = network, inspect, accepted
        threading.Thread(target=self._server.serve_forever, name=self.name, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def account_of(self, customer: str, password: str) -> str | None:
        known, account = self.customers.get(customer, ("", ""))
        return account if compare_digest(password.encode(), known.encode()) and account else None

    def welcome(self) -> str:
        """The front page: customers can begin here, too."""
        here = f"{self.network}/provision?provider={quote(self.service)}"
        return f'<p>Welcome to {escape(self.name)}.</p><p><a href="{escape(here)}">Connect your company with us</a></p>'

    def login(self, query: str) -> str:
        """The page that the network sends customers to; what it was given goes back with the form."""
        visit = ProvisioningRedirect.from_query(query, self.network)
        service = self.inspect(visit.gcid, visit.token)[
            "service"
        ]  # or customers could be made to log in for a stranger
        given = {"serviceID": visit.gcid, "token": visit.token, "returnURL": visit.return_url}
        hidden = "".join(f'<input type="hidden" name="{name}" value="{escape(text)}">' for name, text in given.items())
        return (
            f"<p>{escape(service)} wants to use your account with us.</p>"
            f'<form method="post" action="/provisioning">{hidden}<input name="customer"><input name="password" type="password">'
            f"<button>Log in to {escape(self.name)}</button></form>"
        )

    def logged_in(self, form: Mapping[str, str]) -> str | None:
        """Where the customer goes after the login; None when there is no such customer."""
        visit = ProvisioningRedirect.from_query(form, self.network)
        account = self.account_of(form.get("customer", ""), form.get("password", ""))
        if account is None:
            return None
        self.accepted(visit, account)
        return visit.return_url


def _pages_of(site: CustomerSite) -> type[BaseHTTPRequestHandler]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            self._answer(lambda: site.login(address.query) if address.path == "/provisioning" else site.welcome())

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            form = {name: texts[0] for name, texts in parse_qs(self.rfile.read(size).decode()).items()}
            try:
                onward = site.logged_in(form)
            except Refused as refusal:
                self._page(400, escape(refusal.detail))
                return
            if onward is None:
                self._page(403, "Wrong name or password.")
            else:
                self._page(303, "", Location=onward)

        def _answer(self, make: Callable[[], str]) -> None:
            try:
                self._page(200, make())
            except Refused as refusal:
                self._page(400, escape(refusal.detail))

        def _page(self, status: int, body: str, **headers: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Referrer-Policy", "no-referrer")  # the address of the page holds the token
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(f"<!DOCTYPE html><title>{escape(site.name)}</title>{body}".encode())

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: addresses of this site hold tokens."""

    return Pages
