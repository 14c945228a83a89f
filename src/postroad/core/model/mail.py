"""An e-mail that the network sends, in plain text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    to: str
    subject: str
    text: str = field(repr=False)  # may contain a link that logs in
    id: str  # of the Message-ID: the same when it is sent again
    unsubscribe: str = ""  # a URL that ends the subscription by POST
