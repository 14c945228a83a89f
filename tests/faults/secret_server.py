"""A web server with a secret page, which counts who asks for it; on loopback, for the attacks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.faults.sandbox_attacks import SECRET


class SecretServer(ThreadingHTTPServer):
    """Counts the visits; ``/visits`` tells how many there were since it was last asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), SecretPages)
        self.visits = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take_visits(self) -> int:
        visits, self.visits = self.visits, 0
        return visits


class SecretPages(BaseHTTPRequestHandler):
    server: SecretServer

    def do_GET(self) -> None:
        if self.path == "/visits":
            body = str(self.server.take_visits()).encode()
        else:
            self.server.visits += 1
            body = f"<s>{SECRET}</s>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving() -> Iterator[SecretServer]:
    with SecretServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
