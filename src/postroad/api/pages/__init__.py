"""Pages for people with a browser: where a provisioning begins, and where they come back to.

Kept rules: no script and no style from anywhere, so that nothing on a page runs; every text is escaped; a page leads to this
network and, in one form, to the provider that the person has just read about, and never to an address that somebody asks for.
"""

from starlette.routing import Route

from postroad.api.pages.coming_back import show_state
from postroad.api.pages.page import served
from postroad.api.pages.provision import provision, show_form

PAGES = (
    Route("/provision", served(show_form), methods=["GET"], name="provision_form"),
    Route("/provision", served(provision), methods=["POST"], name="provision"),
    Route("/provisioned/{gcid}", served(show_state), methods=["GET"], name="provisioned"),
)
