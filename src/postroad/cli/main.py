"""The program ``postroad``: the list of its commands, ordered from first steps to administration."""

from __future__ import annotations

import os

import click

from postroad import __version__
from postroad.cli.framework.lazy_group import CommandEntry, LazyGroup

COMMANDS = "postroad.cli.commands."

ENTRIES = {
    "demo": CommandEntry(
        COMMANDS + "operate.demo", "Run a demo network: follow a purchase order through it, with its trace."
    ),
    "serve": CommandEntry(COMMANDS + "operate.serve", "Run a network until interrupted."),
    "apply": CommandEntry(COMMANDS + "config.apply", "Make the network's configuration match the files."),
    "export": CommandEntry(COMMANDS + "config.apply", "Print the network's configuration as YAML."),
    "post": CommandEntry(COMMANDS + "messages.post", "Post a message."),
    "poll": CommandEntry(COMMANDS + "messages.poll", "Receive messages that wait for a service."),
    "ack": CommandEntry(COMMANDS + "messages.poll", "Acknowledge polled messages, or give them back."),
    "tail": CommandEntry(COMMANDS + "messages.tail", "Follow messages as they are posted."),
    "find": CommandEntry(
        COMMANDS + "messages.find", "Find messages by any of their identifiers, and show where they are."
    ),
    "trace": CommandEntry(COMMANDS + "messages.trace", "Show the whole history of a message's transaction."),
    "explain": CommandEntry(COMMANDS + "messages.explain", "Show the route of a message, and why it takes it."),
    "cancel": CommandEntry(
        COMMANDS + "messages.cancel", "Cancel the copies of a message that have not been delivered yet."
    ),
    "dead-letters": CommandEntry(
        COMMANDS + "messages.dead_letters", "List, resend and drop messages that failed permanently."
    ),
    "batches": CommandEntry(
        COMMANDS + "messages.batches",
        "List batches: how full each is, when it will be sent, and why it has not been sent yet.",
    ),
    "batch": CommandEntry(COMMANDS + "messages.batches", "Manage one batch of messages that are sent together."),
    "release": CommandEntry(COMMANDS + "messages.release", "Push all messages that wait for release at a service."),
    "services": CommandEntry(COMMANDS + "config.services", "List services, and register their certificates."),
    "rules": CommandEntry(COMMANDS + "config.rules", "Manage the rules of services."),
    "assets": CommandEntry(
        COMMANDS + "config.assets", "Manage stylesheets, tables, lists, maps, schemas and other assets."
    ),
    "bind": CommandEntry(
        COMMANDS + "config.bindings",
        "Bind a queue to an exchange: messages that match a query, a routing key or both are sent to it.",
    ),
    "unbind": CommandEntry(COMMANDS + "config.bindings", "Remove a binding of an exchange."),
    "bindings": CommandEntry(COMMANDS + "config.bindings", "List and manage the bindings of exchanges."),
    "model": CommandEntry(COMMANDS + "config.models", "Manage models: trees by which messages are routed."),
    "provision": CommandEntry(COMMANDS + "config.provision", "Connect services with providers (account linking)."),
    "cookies": CommandEntry(
        COMMANDS + "config.cookies", "Manage cookies: data that services receive with messages of a sender."
    ),
    "login-link": CommandEntry(
        COMMANDS + "config.credentials", "Print a link that opens the console and logs you in, once."
    ),
    "confirmations": CommandEntry(
        COMMANDS + "config.credentials",
        "Confirm credentials and members that operators have made for your organization.",
    ),
    "notifications": CommandEntry(
        COMMANDS + "config.notifications", "Manage notifications: their subscribers, events and channels."
    ),
    "support": CommandEntry(COMMANDS + "operate.support", "Contact the network's operators, and read their replies."),
    "try": CommandEntry(
        COMMANDS + "messages.try_out", "Try a rule, a condition, a stylesheet or a schema before it is enabled."
    ),
    "detect": CommandEntry(COMMANDS + "messages.formats", "Detect the format of messages from their bytes."),
    "convert": CommandEntry(
        COMMANDS + "messages.formats", "Convert a message to another format, as the network would."
    ),
    "as2": CommandEntry(COMMANDS + "config.as2", "Create keys for AS2, test it, and show MDNs."),
    "keys": CommandEntry(COMMANDS + "config.credentials", "Make API keys."),
    "secrets": CommandEntry(
        COMMANDS + "config.secrets", "Set the secrets that services use elsewhere, and rotate the network's keys."
    ),
    "limits": CommandEntry(COMMANDS + "config.organizations", "Manage the limits of organizations."),
    "suspend": CommandEntry(
        COMMANDS + "config.organizations", "Suspend an organization, or a service (by address or GCID)."
    ),
    "approve": CommandEntry(
        COMMANDS + "config.organizations", "Approve an organization that has registered and awaits approval."
    ),
    "resume": CommandEntry(COMMANDS + "config.organizations", "End the suspension of an organization or service."),
    "level": CommandEntry(COMMANDS + "operate.level", "Show and raise the network's level, after an upgrade."),
    "verify": CommandEntry(COMMANDS + "operate.verify", "Check that the journal is complete and unchanged."),
    "head": CommandEntry(COMMANDS + "operate.verify", "Print the journal's head, to store it elsewhere."),
    "backup": CommandEntry(COMMANDS + "operate.backup", "Copy a network to a folder, beside its running server."),
    "restore": CommandEntry(COMMANDS + "operate.restore", "Restore a network from a backup."),
    "index": CommandEntry(COMMANDS + "operate.index", "Manage the index, which is made from the journal."),
    "followers": CommandEntry(
        COMMANDS + "operate.followers", "List the followers of the journal, and how far each is behind."
    ),
    "bodies": CommandEntry(COMMANDS + "operate.bodies", "Manage stored message bodies."),
    "pipeline": CommandEntry(COMMANDS + "warehouse.pipeline", "Load the journal into the warehouse, on Spark."),
    "whatif": CommandEntry(
        COMMANDS + "warehouse.whatif", "Show what a change of configuration would have done to logged traffic."
    ),
    "bulk": CommandEntry(COMMANDS + "warehouse.bulk", "Process archives of messages on Spark, as the server would."),
    "billing": CommandEntry(COMMANDS + "warehouse.billing", "Show and issue bills, and record payments."),
    "doctor": CommandEntry(COMMANDS + "operate.doctor", "Check this machine and its settings, or a running network."),
    "bench": CommandEntry(COMMANDS + "operate.bench", "Measure a running network with a quick load."),
    "report": CommandEntry(
        COMMANDS + "warehouse.report", "Show traffic, errors, latency, partners and anomalies, from the warehouse."
    ),
    "simulate": CommandEntry(
        COMMANDS + "operate.simulate",
        "Write the journal of a simulated network, for tests, benchmarks and the warehouse.",
    ),
}


class PostroadCommands(LazyGroup):
    entries = ENTRIES


@click.group(cls=PostroadCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="postroad")
@click.pass_context
def postroad(context: click.Context) -> None:
    """An open message interchange network.

    Start with `postroad demo`. Commands that talk to a network find it by --url and --key-file, by POSTROAD_URL and
    POSTROAD_KEY_FILE, or by the data folder of a network on this machine.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False


def main() -> None:
    postroad(prog_name="postroad")


if __name__ == "__main__":
    main()
