"""Checks send ports, splitters and the options agreed on with partners when they are saved.

Rules: all errors are found at once, each with its location in the profile as people write it. Every error that can be
known here is reported here rather than by a later batch, so the envelope is tested by assembling an empty
interchange. Private services of others are treated as missing.

The options agreed on with a partner may be those of every standard that the splitter accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches

from postroad.core.batching.policy_check import SOME_MOMENT_US, check_policy
from postroad.core.configuration.change_plan import WantedObject
from postroad.core.configuration.document import DocumentError, pointer
from postroad.core.configuration.entries.standard_options import written_name
from postroad.core.configuration.profile.batching import BatchingProfile
from postroad.core.interchange.agreement import AGREEMENT_OPTIONS
from postroad.core.interchange.model import Envelope
from postroad.core.interchange.standard import Standard, StandardCatalogue
from postroad.core.model.batch_policy import Batching, BatchPolicy, Empty, Port, Splitting
from postroad.core.model.directory import Service
from postroad.core.model.rule import ValueLocation
from postroad.core.model.snapshot import Directory
from postroad.core.routing.rules.rule_check import find_condition_errors, find_place_errors
from postroad.errors import Refused

BATCHING, SPLITTING = "/batching", "/splitting"
_ELSEWHERE = {"unfinished_after_s": "controlled/unfinishedAfterSeconds"}  # of what the policy names without its section


def find_port_errors(service: Service, directory: Directory, standards: StandardCatalogue) -> list[DocumentError]:
    """Return everything wrong with the service's batching and splitting in this directory."""
    found: list[DocumentError] = []
    if service.batching is not None:
        found += _batching_faults(service, service.batching, directory, standards)
    if service.splitting is not None:
        found += _splitting_faults(service, service.splitting, directory, standards)
    return found


def find_new_port_errors(
    wanted: Iterable[WantedObject], before: Directory, after: Directory, standards: StandardCatalogue
) -> list[DocumentError]:
    """Return the errors that a document introduces; unchanged send ports are not checked again."""
    found = []
    for item in wanted:
        service: Service = item.value
        faults = find_port_errors(service, after, standards)
        if faults and before.services.get(service.gcid) == service:
            known = find_port_errors(service, before, standards)
            faults = [fault for fault in faults if fault not in known]
        found += [DocumentError(item.place + fault.pointer, fault.detail) for fault in faults]
    return found


def _batching_faults(
    service: Service, batching: Batching, directory: Directory, standards: StandardCatalogue
) -> Iterator[DocumentError]:
    yield from _receiver_faults(service, batching.sends_to, f"{BATCHING}/sendsTo", directory)
    yield from _policy_faults(service, batching.policy, directory)
    yield from _batcher_faults(service, batching.policy, standards)
    standard = _standard(batching.standard, standards)
    if isinstance(standard, str):
        yield DocumentError(f"{BATCHING}/standard", standard)
    elif standard.assemble is None:
        yield DocumentError(f"{BATCHING}/standard", f"{standard.title} cannot be assembled; use another standard")
    else:
        yield from _envelope_faults(standard, batching)


def _batcher_faults(service: Service, policy: BatchPolicy, standards: StandardCatalogue) -> Iterator[DocumentError]:
    chosen = standards.port_of(service, policy).batcher
    if chosen is None:
        if policy.batcher_settings:
            yield DocumentError(f"{BATCHING}/batcherSettings", "these options need a batcher; set batcher")
        return
    if chosen.plug_in is None:
        yield DocumentError(
            f"{BATCHING}/batcher", f"batcher plug-in {chosen.name!r} is not installed; install its package"
        )
        return
    try:
        chosen.plug_in.check(dict(chosen.settings))
    except Refused as refusal:
        yield DocumentError(f"{BATCHING}/batcherSettings", refusal.detail)


def _splitting_faults(
    service: Service, splitting: Splitting, directory: Directory, standards: StandardCatalogue
) -> Iterator[DocumentError]:
    yield from _receiver_faults(service, splitting.sends_to, f"{SPLITTING}/sendsTo", directory)
    if splitting.answers_to:
        yield from _receiver_faults(service, splitting.answers_to, f"{SPLITTING}/answersTo", directory)
    yield from agreement_errors(splitting, f"{SPLITTING}/options", standards)
    if not splitting.standard:
        return
    standard = _standard(splitting.standard, standards)
    if isinstance(standard, str):
        yield DocumentError(f"{SPLITTING}/standard", standard)
        return
    if standard.split is None:
        yield DocumentError(f"{SPLITTING}/standard", f"{standard.title} cannot be split; use another standard")
    if splitting.answers_to and standard.acknowledge is None:
        yield DocumentError(f"{SPLITTING}/answersTo", f"{standard.title} has no acknowledgments; remove it")
    yield from _options_faults(standard, splitting)


def _standard(name: str, standards: StandardCatalogue) -> Standard | str:
    """Return the standard with this name, or why it is not available."""
    try:
        return standards.standard(name)
    except Refused as refusal:
        return refusal.detail


# ---- its recipients ------------------------------------------------------------------------------------------------


def _receiver_faults(service: Service, named: str, here: str, directory: Directory) -> Iterator[DocumentError]:
    receiver = directory.service(named)
    if receiver is None or not directory.visible(receiver, service.organization):
        yield DocumentError(here, f"service {named[:120]!r} does not exist, or you may not use it; check the directory")
    elif receiver.gcid == service.gcid:
        yield DocumentError(here, "a service cannot send to itself: messages would never arrive")
    elif _comes_back(service, receiver, directory):
        yield DocumentError(here, f"{receiver.address} forwards messages back: they would never arrive")


def _comes_back(service: Service, receiver: Service, directory: Directory) -> bool:
    """True if batchers and splitters would send in a circle."""
    seen: set[str] = set()
    following: Service | None = receiver
    while following is not None and following.gcid not in seen:
        if following.gcid == service.gcid:
            return True
        seen.add(following.gcid)
        section = following.batching or following.splitting
        following = directory.service(section.sends_to) if section else None
    return False


# ---- when it goes ----------------------------------------------------------------------------------------------------


def _policy_faults(service: Service, policy: BatchPolicy, directory: Directory) -> list[DocumentError]:
    """Return the errors of all conditions and locations, then of the policy as a whole."""
    found = [*_reading_faults(service, policy, directory)]
    if found:
        return found
    try:
        check_policy(policy, Port(time_zone=service.time_zone, windows=service.windows))
    except Refused as refusal:
        return [DocumentError(_written_pointer(refusal.pointer), refusal.detail)]
    return []


def _reading_faults(service: Service, policy: BatchPolicy, directory: Directory) -> Iterator[DocumentError]:
    for name, condition in (("last", policy.last), ("takes", policy.takes)):
        if condition is not None:
            yield from _located(find_condition_errors(condition, f"{BATCHING}/{name}", directory, service))
    sorted_by = tuple(key.place for key in policy.sort_by)
    places: tuple[tuple[str, tuple[ValueLocation, ...]], ...] = (("groupBy", policy.group_by), ("sortBy", sorted_by))
    for name, given in places:
        for number, place in enumerate(given):
            yield from _located(find_place_errors(place, f"{BATCHING}/{name}/{number}", directory, service))


def _located(faults: Iterable[tuple[str, str]]) -> Iterator[DocumentError]:
    for place, detail in faults:
        yield DocumentError(place, detail)


def _written_pointer(policy_pointer: str) -> str:
    """The place in a policy, by the names that people write."""
    first, _, rest = policy_pointer.removeprefix("/").partition("/")
    if not first:
        return BATCHING
    field = BatchingProfile.model_fields.get(first)
    name = _ELSEWHERE.get(first) or (field.alias if field and field.alias else first)
    return f"{BATCHING}/{name}" + (f"/{rest}" if rest else "")


# ---- as what it goes -------------------------------------------------------------------------------------------------


class _TrialNumbers:
    """Numbers for a trial: nothing is drawn."""

    def next(self, scope: str) -> int:
        return 1


def _envelope_faults(standard: Standard, batching: Batching) -> Iterator[DocumentError]:
    unknown = [*_unknown_options(standard, batching)]
    yield from unknown or _trial_faults(standard, batching)


def _unknown_options(standard: Standard, batching: Batching) -> Iterator[DocumentError]:
    for name, _ in batching.envelope:
        if standard.options is not None and name not in standard.options:
            near = get_close_matches(name, standard.options, n=3) or sorted(standard.options) or ["nothing at all"]
            known = ", ".join(map(written_name, near))
            here = f"{BATCHING}/envelope{pointer(written_name(name))}"
            yield DocumentError(here, f"the envelope of {standard.title} has no such option; it has {known}")


def _trial_faults(standard: Standard, batching: Batching) -> Iterator[DocumentError]:
    envelope = Envelope(
        sender=batching.sender, receiver=batching.receiver, at_us=SOME_MOMENT_US, options=dict(batching.envelope)
    )

    def attempt() -> None:
        if standard.assemble is not None:
            for _ in standard.assemble((), envelope, _TrialNumbers()):
                pass

    refusal = _refusal(attempt)
    if refusal is None:
        return
    if refusal.pointer:
        yield DocumentError(BATCHING + _option_pointer(refusal.pointer, "/envelope"), refusal.detail)
    elif batching.policy.empty is Empty.SEND:
        yield DocumentError(f"{BATCHING}/empty", f"an empty batch cannot be sent: {refusal.detail}")


def _options_faults(standard: Standard, splitting: Splitting) -> Iterator[DocumentError]:
    """Yield the errors of the options agreed on with the partner."""

    def attempt() -> None:
        if standard.split is not None:
            for _ in standard.split(b"", splitting.on_envelope_error, dict(splitting.options)):
                pass

    refusal = _refusal(attempt)
    if refusal is not None and refusal.pointer.startswith("/envelope/"):
        yield DocumentError(SPLITTING + _option_pointer(refusal.pointer, "/options"), refusal.detail)


def _refusal(attempt: Callable[[], None]) -> Refused | None:
    try:
        attempt()
    except Refused as refusal:
        return refusal
    return None


def _option_pointer(named: str, section: str) -> str:
    """Return the pointer to the option that an assembler names."""
    name = named.rpartition("/")[2]
    return pointer(name) if name in ("sender", "receiver") else section + pointer(written_name(name))


def agreement_errors(splitting: Splitting, here: str, standards: StandardCatalogue) -> Iterator[DocumentError]:
    """Yield the errors in the options; ``here`` is the pointer to them."""
    known = _known_options(splitting, standards)
    for name, text in splitting.options:
        allowed = AGREEMENT_OPTIONS.get(name, ())
        if name not in AGREEMENT_OPTIONS and known is not None and name not in known:
            near = get_close_matches(name, (*known, *AGREEMENT_OPTIONS), n=3) or sorted(AGREEMENT_OPTIONS)
            yield DocumentError(
                f"{here}/{written_name(name)}", f"it has no effect here; use {', '.join(map(written_name, near))}"
            )
        elif allowed and text not in allowed:
            yield DocumentError(f"{here}/{written_name(name)}", f"{text[:40]!r} is neither {' nor '.join(allowed)}")


def _known_options(splitting: Splitting, standards: StandardCatalogue) -> frozenset[str] | None:
    """Return the option names of the standards that may arrive; None for a plug-in."""
    names: frozenset[str] = frozenset()
    for one in standards:
        if splitting.standard in ("", one.name):
            if one.options is None:
                return None
            names |= one.options
    return names
