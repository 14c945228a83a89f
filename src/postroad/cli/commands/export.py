"""``postroad export``: the configuration that the network has now, in the form that ``apply`` takes."""

from __future__ import annotations

from pathlib import Path

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output


@command
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to a file instead.", metavar="FILE")
@connected
def export(out: Output, output: Path | None, connection: Connection) -> None:
    """Print the network's configuration as YAML.

    It holds no secrets, and applying it again changes nothing.
    """
    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        document = client.export()
    text = as_yaml(document)
    if output is not None:
        output.write_text(text)
        out.value({"file": str(output)})
        return
    out.value(document)
    out.say(text.rstrip())
