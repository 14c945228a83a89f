"""The pages, a module for each subject; ``PAGES`` is the list of all of them."""

from starlette.routing import Route

from postroad.console.pages import (
    account,
    batches,
    bench,
    bindings,
    connecting,
    dead_letter_runs,
    dead_letters,
    directory,
    entering,
    finding,
    home,
    live,
    messages,
    models,
    operators,
    organization,
    rules,
    services,
    support,
    tariffs,
)

SUBJECTS = (
    home,
    live,
    entering,
    account,
    support,
    operators,
    directory,
    connecting,
    organization,
    services,
    messages,
    batches,
    dead_letters,
    dead_letter_runs,
    bench,
    bindings,
    models,
    rules,
    tariffs,
    finding,
)
PAGES: tuple[Route, ...] = tuple(route for subject in SUBJECTS for route in subject.ROUTES)
