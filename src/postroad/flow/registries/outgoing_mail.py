"""E-mail to single persons: invitations and links for a new password.

Rule: a request for an e-mail never waits for the mail server, so its time reveals nothing. An e-mail that the
server does not accept is tried again a few times, and then given up with a line in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from postroad.core.model.mail import Mail
from postroad.ports import Mailer

MAX_WAITING = 1_000
RETRIES_S = (30.0, 300.0, 1_800.0)

log = logging.getLogger(__name__)


class OutgoingMail:
    """Sends e-mail in the background, if a mail server is set."""

    def __init__(self) -> None:
        self._mailer: Mailer | None = None
        self._url: Callable[[], str] = str
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, mailer: Mailer, url: Callable[[], str]) -> None:
        """Set the mail server, and the function that returns the external address of the network."""
        self._mailer, self._url = mailer, url

    @property
    def is_available(self) -> bool:
        return self._mailer is not None

    @property
    def url(self) -> str:
        """Return the external address of the network, for links in e-mails."""
        return self._url()

    def send(self, mail: Mail) -> None:
        """Send the e-mail in the background; does nothing if there is no mail server."""
        if self._mailer is not None:
            self.run(self._insist(self._mailer, mail))

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that ends with an e-mail in the background; it is dropped if too much is waiting."""
        if len(self._tasks) >= MAX_WAITING:
            work.close()
            log.warning("mail.queue_full: an e-mail is not sent: %d are waiting for the mail server", MAX_WAITING)
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("mail.failed: an e-mail could not be made: %s", error, exc_info=error)

    async def _insist(self, mailer: Mailer, mail: Mail) -> None:
        for pause_s in (*RETRIES_S, None):
            fault = await mailer.send(mail)
            if not fault:
                return
            log.warning("mail.refused: the e-mail %s was not accepted: %s", mail.id, fault)
            if pause_s is not None:
                await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """Give up what is waiting."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
