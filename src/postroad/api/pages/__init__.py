"""Pages for people with a browser: where a provisioning begins, and where they return to.

Rules: pages have no scripts and no external styles, so no code on a page runs. Every text is escaped. A page links
only to this network and, in one form, to the provider that it names, never to an address from the request.
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
