"""The command ``postroad serve``: run a network in this process until SIGINT or SIGTERM."""

from __future__ import annotations

import dataclasses
import os
from functools import partial

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.framework.command import command
from postroad.cli.framework.connection import METRICS_URL_FILE, OPERATOR_KEY_FILE
from postroad.cli.framework.output import Output
from postroad.cli.framework.server_process import (
    describe_listen_error,
    log_to_stderr,
    published_address,
    run_until_signalled,
)
from postroad.cli.framework.settings import with_settings


@command
@click.option("--port", type=click.IntRange(0, 65_535), help="Shorthand for --set port=N; 0 selects a free port.")
@with_settings
def serve(out: Output, settings: Settings, port: int | None) -> None:
    """Run a network until interrupted.

    Settings come from postroad.toml, POSTROAD_* variables and --set; `postroad doctor --settings` lists them.
    """
    if port is not None:
        settings = dataclasses.replace(settings, port=port)
    log_to_stderr(settings.log_level, as_json=out.as_json or settings.log_form == "json")
    run_until_signalled(_run(out, settings))


async def _run(out: Output, settings: Settings) -> None:
    from postroad.adapters.systemd import HTTP, SystemdNotifier, take_listening_sockets
    from postroad.api.serve import serve as serve_http
    from postroad.bootstrap import open_network
    from postroad.bootstrap.first_start import has_operator_password
    from postroad.bootstrap.open_files import allow_open_files
    from postroad.console import console
    from postroad.core.model.level import NEWEST

    allow_open_files()
    sockets = take_listening_sockets(os.environ, os.getpid())
    notifier = SystemdNotifier(os.environ, os.getpid())
    async with open_network(settings) as running:
        data = settings.data
        with published_address(data) as leave_address, published_address(data, METRICS_URL_FILE) as leave_metrics:

            def listening(url: str) -> None:
                leave_address(url)
                notifier.report_ready()
                _announce(out, settings, url, new=running.operator_key is not None)
                if running.network.directory.level < NEWEST:
                    out.print(f"network level {running.network.directory.level} of {NEWEST}; see `postroad level show`")
                if not has_operator_password(running.network.directory):
                    _show_way_in(out, settings)

            try:
                await serve_http(
                    running,
                    listening,
                    partial(console, running),
                    inherited=sockets.get(HTTP, ()),
                    on_metrics=leave_metrics,
                    on_stopping=notifier.stopping,
                )
            except OSError as error:
                raise describe_listen_error(settings, error) from error


def _announce(out: Output, settings: Settings, url: str, *, new: bool) -> None:
    key_file = settings.data / OPERATOR_KEY_FILE
    out.value({"url": url, "data": str(settings.data), "operator_key_file": str(key_file)})
    out.print(f"postroad listens on {click.style(url, bold=True)} (data in {settings.data}; stop with Ctrl-C)")
    if new:
        out.print("this is a new network")


def _show_way_in(out: Output, settings: Settings) -> None:
    """Print how the operator logs in, at every start until an operator has a password."""
    key_file = settings.data / OPERATOR_KEY_FILE
    if key_file.exists():  # elsewhere, another node of the network has it
        out.print(f"no operator has a password yet; the operator's key is in {key_file}")
        out.print("`postroad login-link` prints a link that opens the console")
