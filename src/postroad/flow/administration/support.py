"""Support requests: opened by members about a visible message, and answered by operators.

Rule: after each reply, the request waits for the other side. A closed request reopens when a member writes again.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.core.model.snapshot import Directory
from postroad.core.model.support import SupportNote, SupportRequest, SupportState
from postroad.errors import Refused
from postroad.flow.administration.accounts import require_person
from postroad.flow.administration.base import Administration, not_found
from postroad.flow.registries.configuration import DirectoryChange, build_save

SUBJECT_CHARS = 200
TEXT_CHARS = 10_000
MAX_NOTES = 200


async def open_request(
    administration: Administration, caller: Caller, subject: str, text: str, session: str = ""
) -> SupportRequest:
    """Open a request to the operators; ``session`` is the message that it is about, or ''."""
    person = require_person(caller)
    if not person.organization:
        raise Refused("permission.denied", "Operators cannot open requests; only members of an organization can")
    _check_text(subject, SUBJECT_CHARS, "/subject")
    if session and await administration.network.trace(session, person.organization) is None:
        raise Refused("not-found", "The message does not exist, or you may not see it", pointer="/session")
    note = _note(administration, person, text)
    request = SupportRequest(
        id=ids.short(note.at_us, administration.network.randomness.bytes(4)),
        organization=person.organization,
        subject=subject.strip(),
        session=session,
        notes=(note,),
    )

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check_number(list_requests(caller, directory), administration.open_support_requests)
        return [build_save(request)]

    await administration.carry_out(person.email, decide, "support request opened")
    return request


def _check_number(requests: list[SupportRequest], most: int) -> None:
    if most and sum(one.state is not SupportState.CLOSED for one in requests) >= most:
        raise Refused(
            "support.too-many",
            f"Your organization has {most} requests that are not closed; close one, or add a comment to it",
        )


async def add_note(
    administration: Administration, caller: Caller, request_id: str, text: str, *, close: bool = False
) -> SupportRequest:
    """Add a note, or close the request with a last note, which may be empty."""
    person = require_person(caller)
    note = _note(administration, person, text if text.strip() or not close else "Closed.")

    def decide(directory: Directory) -> list[DirectoryChange]:
        found = find_request(caller, directory, request_id)
        closes = close and found.state is not SupportState.CLOSED
        if len(found.notes) >= MAX_NOTES and not closes:
            raise Refused(
                "value.invalid", f"A request has at most {MAX_NOTES} comments; open another one, and refer to this one"
            )
        state = SupportState.CLOSED if close else _handed_over(person)
        return [build_save(replace(found, state=state, notes=(*found.notes, note)))]

    directory = await administration.carry_out(person.email, decide, "support request written to")
    return find_request(caller, directory, request_id)


def find_request(caller: Caller, directory: Directory, request_id: str) -> SupportRequest:
    """Return the request if the caller may read it; raises Refused otherwise."""
    found = [one for one in list_requests(caller, directory) if one.id == request_id]
    if not found:
        raise not_found()
    return found[0]


def list_requests(caller: Caller, directory: Directory) -> list[SupportRequest]:
    """Return the requests of the caller's organization, or all for operators, most recent note first."""
    person = require_person(caller)
    table = directory.support if person.operator else directory.support.of(person.organization.casefold())
    return sorted(table.values(), key=lambda one: (-one.changed_at_us, one.id))


def _note(administration: Administration, person: Person, text: str) -> SupportNote:
    text = text.replace("\r\n", "\n")  # browsers count the end of a line as one character, and send two
    _check_text(text, TEXT_CHARS, "/text")
    now_us = administration.network.clock.now_us()
    return SupportNote(at_us=now_us, by=person.email, text=text.strip(), operator=person.operator)


def _handed_over(person: Person) -> SupportState:
    return SupportState.ANSWERED if person.operator else SupportState.OPEN


def _check_text(text: str, most: int, pointer: str) -> None:
    if not text.strip() or len(text) > most:
        raise Refused("value.invalid", f"Enter a text of at most {most} characters", pointer=pointer)
