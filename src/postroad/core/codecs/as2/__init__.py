"""AS2: business documents over HTTP, signed, encrypted and compressed, with an MDN that proves receipt.

RFC 4130, 5402 (compression) and 6362 (several attachments, which are simply a multipart document). The terms:

- an ``As2Identity`` is one side with its keys or certificates; ``PartnershipTerms`` are what two sides have agreed on;
- a message has a ``Heading`` outside and **layers** around its document: signed, encrypted, compressed;
- the ``Mic`` is the digest of what was sent; the MDN (``Mdn``) returns it with a ``Disposition``;
- ``judge_mdn`` alone decides whether an MDN is a success.

Sending::

    built = build(head, [body], own, partner, agreement, message_id="<…>", at=now, subject="", boundary_seed=seed,
                  randomness=randomness)        # BuiltMessage(headers, body, sent): post headers and body, keep ``sent``
    mdn = read_mdn(headers, body, partner)      # of the HTTP answer, or of a request for which ``is_mdn`` holds
    verdict = judge_mdn(mdn, built.sent)        # MdnVerdict(outcome, reason), verdict.acknowledged

Receiving::

    heading = read_heading(headers)             # finds own and partner; heading.wish is the requested MDN
    try:
        opened = open_message(headers, body, own, partner, agreement, limits)
        disposition, mic = PROCESSED, opened.mic        # after the document is durable
    except Refused as refused:
        disposition, mic = disposition_of(refused), None
    if heading.wish.wanted:
        mdn = build_mdn(heading, own, disposition=disposition, mic=mic, at=now, message_id="<…>", boundary_seed=seed)

Rules: the same arguments make the same bytes; a reader returns or raises ``Refused``; documents are never canonicalized.
"""

from __future__ import annotations

from postroad.core.codecs.as2.dispositions import (
    PROCESSED,
    REFUSAL_DISPOSITIONS,
    Disposition,
    disposition_of,
    error,
    failure,
    read_disposition,
    warning,
)
from postroad.core.codecs.as2.heading import Heading, read_heading
from postroad.core.codecs.as2.incoming_message import OpenedMessage, open_message
from postroad.core.codecs.as2.mdn_reader import Mdn, is_mdn, read_mdn
from postroad.core.codecs.as2.mdn_request import NO_MDN_REQUEST, MdnRequest
from postroad.core.codecs.as2.mdn_verdict import MdnOutcome, MdnVerdict, judge_mdn
from postroad.core.codecs.as2.mdn_writer import BuiltMdn, build_mdn
from postroad.core.codecs.as2.mic import Mic, mic_over, read_mic
from postroad.core.codecs.as2.names import check_as2_name, quote_name, read_names, unquote_name
from postroad.core.codecs.as2.outgoing_message import BuiltMessage, SentMessage, build
from postroad.core.codecs.as2.partners import As2Identity, PartnershipTerms

__all__ = [
    "NO_MDN_REQUEST",
    "PROCESSED",
    "REFUSAL_DISPOSITIONS",
    "As2Identity",
    "BuiltMdn",
    "BuiltMessage",
    "Disposition",
    "Heading",
    "Mdn",
    "MdnOutcome",
    "MdnRequest",
    "MdnVerdict",
    "Mic",
    "OpenedMessage",
    "PartnershipTerms",
    "SentMessage",
    "build",
    "build_mdn",
    "check_as2_name",
    "disposition_of",
    "error",
    "failure",
    "is_mdn",
    "judge_mdn",
    "mic_over",
    "open_message",
    "quote_name",
    "read_disposition",
    "read_heading",
    "read_mdn",
    "read_mic",
    "read_names",
    "unquote_name",
    "warning",
]
