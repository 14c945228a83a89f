"""Checks the limits of polls and settlements for every wire form."""

from __future__ import annotations

from postroad.core.codecs.lexical import read_text
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.parts import check_names
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.model.polling import LEASE_MAX_S, POLL_MAX, TOKENS_MAX, WAIT_MAX_S, PollRequest, Settlement


def check_poll(request: PollRequest, limits: WireLimits) -> PollRequest:
    if not 1 <= request.max <= POLL_MAX:
        raise malformed(f"max is from 1 to {POLL_MAX}", "/max")
    if not 0 <= request.wait_s <= WAIT_MAX_S:
        raise malformed(f"the wait is from 0 to {WAIT_MAX_S:g} seconds", "/waitSeconds")
    if not 0 <= request.lease_s <= LEASE_MAX_S:
        raise malformed(f"the lease is from 0 (the default) to {LEASE_MAX_S:g} seconds", "/leaseSeconds")
    select = request.select
    names = [name for name, _ in select.properties]
    check_names(names, "property", "/select/properties")
    for text in (select.sender, select.topic, select.session, select.transaction, *names):
        read_text(text, "/select", limits)
    for _, text in select.properties:
        read_text(text, "/select/properties", limits)
    return request


def check_settlement(settlement: Settlement, limits: WireLimits) -> Settlement:
    if not settlement.tokens:
        raise malformed("at least one token is needed", "/tokens")
    if len(settlement.tokens) > TOKENS_MAX:
        raise too_complex(f"at most {TOKENS_MAX} tokens are allowed", "/tokens")
    if not 0 <= settlement.delay_s <= LEASE_MAX_S:
        raise malformed(f"the delay is from 0 to {LEASE_MAX_S:g} seconds", "/delaySeconds")
    for text in (settlement.reason, *settlement.tokens):
        read_text(text, "/tokens", limits)
    return settlement
