"""A TCP proxy that can swallow answers: requests get through, but the connection is cut before the answer comes back."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class LossyProxy:
    """Cuts every answer while ``losing`` is positive, counting down with each one."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.losing = 0
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            threading.Thread(target=_pump, args=(client, server), daemon=True).start()
            with contextlib.suppress(OSError):
                while answer := server.recv(65536):
                    if self.losing > 0:
                        self.losing -= 1
                        self.lost += 1
                        client.shutdown(socket.SHUT_RDWR)  # closing alone waits for the other thread to notice
                        return
                    client.sendall(answer)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@contextmanager
def lossy(url: str) -> Iterator[LossyProxy]:
    proxy = LossyProxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
