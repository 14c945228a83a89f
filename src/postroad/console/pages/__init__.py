"""The pages, a module for each subject; ``PAGES`` is the list of all of them."""

from starlette.routing import Route

from postroad.console.pages import account, entering, home, operators, support

PAGES: tuple[Route, ...] = (*home.ROUTES, *entering.ROUTES, *account.ROUTES, *support.ROUTES, *operators.ROUTES)
