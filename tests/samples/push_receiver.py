"""A real HTTP server for the other end of pushes: it keeps what it gets and answers as a test tells it to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Delivered


@dataclass(frozen=True, kw_only=True)
class Pushed:
    path: str
    headers: Headers
    body: bytes

    @property
    def id(self) -> str:
        return str(self.headers["webhook-id"])

    @property
    def delivered(self) -> Delivered:
        [delivered] = JSON_FORM.decode_delivered(self.body)
        return delivered


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int = 204
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Answering = Callable[[Pushed], Answer]
YES = Answer()


class Receiver(ThreadingHTTPServer):
    """Answers by path; a path that nobody has told it about is answered with 204."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.answers: dict[str, Answering] = {}
        self.pushed: list[Pushed] = []
        self.changed = threading.Condition()

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that breaks off is what many tests are about."""

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def at(self, path: str) -> list[Pushed]:
        with self.changed:
            return [one for one in self.pushed if one.path == path]

    def wait_for(self, path: str, count: int = 1, seconds: float = 60.0) -> list[Pushed]:
        """What was pushed to a path, once there is as much as that."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while len(found := [one for one in self.pushed if one.path == path]) < count:
                left_s = deadline - time.monotonic()
                assert left_s > 0, f"{len(found)} of {count} pushes came to {path}"
                self.changed.wait(left_s)
        return found


class _Receiving(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        pushed = Pushed(path=self.path, headers=self.headers, body=body)
        with self.server.changed:
            self.server.pushed.append(pushed)
            self.server.changed.notify_all()
        respond = self.server.answers.get(self.path)
        answer = respond(pushed) if respond is not None else YES
        self.send_response(answer.status)
        for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Tests say themselves what is worth saying."""


@contextmanager
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
