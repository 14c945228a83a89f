"""The command ``postroad demo``: a running network, a purchase order that passes through it, and what to try next."""

from __future__ import annotations

import click

from postroad.cli.demo.demonstration import run_demo
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.server_process import run_until_signalled
from postroad.cli.framework.settings import gather_settings

DEFAULTS = {"segment_bytes": 4 << 20, "least_free_bytes": 64 << 20, "log_level": "warning"}


@command
@click.option("--once", is_flag=True, help="Exit at the end of the demo.")
@click.option("--data", default="var/demo", help="Folder of the demo's network.", metavar="FOLDER", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port to listen on; a free one if it is in use.  [default: 8470]"
)
def demo(out: Output, once: bool, data: str, port: int | None) -> None:
    """Run a demo network: follow a purchase order through it, with its trace.

    Starts a separate network and registers six organizations with their services and rules. MyBiz orders over JSON
    and over SOAP; in transit, its order is transformed, completed and checked; Acme confirms, and an unwanted sender
    is rejected. The network keeps running so that you can try more.

    Settings other than the folder come from postroad.toml and POSTROAD_* variables, as with `postroad serve`:
    POSTROAD_PORT=9200.
    """
    if once:
        port = 0
    settings = gather_settings(None, data, () if port is None else (f"port={port}",), DEFAULTS)
    run_until_signalled(run_demo(out, settings, once=once))
