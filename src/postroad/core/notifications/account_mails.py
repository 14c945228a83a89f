"""E-mails about a person's own account: an invitation, and a link for a new password."""

from __future__ import annotations

from urllib.parse import quote

from postroad.core.model.directory import Person
from postroad.core.model.mail import Mail
from postroad.core.notifications.texts import PRODUCT


def write_invitation(person: Person, invited_by: str, key: str, key_id: str, url: str) -> Mail:
    """Return the e-mail that invites a member; the link is valid for 7 days."""
    return Mail(
        to=person.email,
        subject=f"[{PRODUCT}] Invitation to {person.organization}",
        text=(
            f"{invited_by} has invited you to {person.organization} on {url}\n\n"
            f"Choose your password within 7 days: {url}/welcome?key={quote(key)}\n\n"
            "If you do not know why you were invited, ignore this e-mail.\n"
        ),
        id=f"invitation-{key_id}",
    )


def write_password_reset(person: Person, key: str, key_id: str, url: str) -> Mail:
    """Return the e-mail with the link for a new password; the link works once, for an hour."""
    return Mail(
        to=person.email,
        subject=f"[{PRODUCT}] New password",
        text=(
            f"Someone asked for a new password for {person.email} on {url}\n\n"
            f"Choose it within an hour: {url}/password/reset?key={quote(key)}\n\n"
            "It ends all your logins; your API keys stay valid. If it was not you, ignore this e-mail: nothing has changed.\n"
        ),
        id=f"password-{key_id}",
    )
