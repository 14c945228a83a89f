"""The pages, a module for each subject; ``PAGES`` is the list of all of them."""

from starlette.routing import Route

from postroad.console.pages import (
    account,
    connecting,
    directory,
    entering,
    finding,
    home,
    messages,
    operators,
    organization,
    services,
    support,
)

SUBJECTS = (
    home,
    entering,
    account,
    support,
    operators,
    directory,
    connecting,
    organization,
    services,
    messages,
    finding,
)
PAGES: tuple[Route, ...] = tuple(route for subject in SUBJECTS for route in subject.ROUTES)
