"""``postroad demo``: a whole network, a purchase order that travels through it, and what to try next."""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.configuring import settings_from
from postroad.cli.demonstration import demonstrated
from postroad.cli.output import Output
from postroad.cli.running import until_signalled

SMALL = ("segment_bytes=4194304", "least_free_bytes=67108864", "log_level=warning")


@command
@click.option("--once", is_flag=True, help="Exit when all has been shown.")
@click.option("--data", default="var/demo", help="Folder of the demo's network.", metavar="FOLDER", show_default=True)
@click.option("--port", default=8470, help="Port to listen on; another one when it is taken.", show_default=True)
def demo(out: Output, once: bool, data: str, port: int) -> None:
    """Show a network at work: a purchase order travels, with its trace.

    Starts a network of its own and registers six organizations with their services and rules. MyBiz orders over JSON and over
    SOAP; on the way its order is transformed, completed and checked; Acme confirms, and a sender that Acme does not want to hear
    from is stopped. The network keeps running so that you can try more.
    """
    settings = settings_from(None, data, (*SMALL, f"port={0 if once else port}"))
    until_signalled(demonstrated(out, settings, once=once))
