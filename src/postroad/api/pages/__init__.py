"""Pages for people with a browser: where a provisioning begins, and where they come back to.

Rules: no script and no style from anywhere, so that nothing on a page runs; every text is escaped; a page leads to this
network and, in one form, to the provider that the person has just read about, and never to an address that somebody asks for.
"""

from starlette.routing import Route

from postroad.api.pages.page import serve_page
from postroad.api.pages.provision import provision, show_form
from postroad.api.pages.return_page import show_return_page

PAGES = (
    Route("/provision", serve_page(show_form), methods=["GET"], name="provision_form"),
    Route("/provision", serve_page(provision), methods=["POST"], name="provision"),
    Route("/provisioned/{gcid}", serve_page(show_return_page), methods=["GET"], name="provisioned"),
)
