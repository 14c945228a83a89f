"""In which form a post is, and in which it is answered.

Kept rule: nothing is refused here. Why a post is in no form at all goes on to whoever knows its poster, is told to them in their
own wire form, and is kept like every other refusal.
"""

from __future__ import annotations

from postroad.api.asked import asked
from postroad.api.http.request import Request
from postroad.api.plain_messages import answer_form
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.detect import Own, own_form
from postroad.errors import Refused


def form_in(request: Request) -> Own | Refused | None:
    """The own form that a post is in; None for a plain format, and why where it is in neither."""
    known = asked(request)
    try:
        return None if known.is_plain else own_form(known.content_type, request.body)
    except Refused as refusal:
        return refusal


def spoken(request: Request, own: Own | Refused | None) -> Codec:
    """The form in which a post is answered."""
    if isinstance(own, Own):
        return own.codec
    return answer_form(asked(request).accept, asked(request).content_type, request.body)
