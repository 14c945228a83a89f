"""The program ``postroad``: the list of its commands, in the order in which one meets them."""

from __future__ import annotations

import os

import click

from postroad import __version__
from postroad.cli.lazy import Entry, LazyGroup

COMMANDS = "postroad.cli.commands."

ENTRIES = {
    "demo": Entry(COMMANDS + "demo", "Show a network at work: a purchase order travels, with its trace."),
    "serve": Entry(COMMANDS + "serve", "Run a network until interrupted."),
    "apply": Entry(COMMANDS + "apply", "Make the network's configuration match the files."),
    "export": Entry(COMMANDS + "export", "Print the network's configuration as YAML."),
    "post": Entry(COMMANDS + "post", "Post a message."),
    "poll": Entry(COMMANDS + "poll", "Take messages that wait for a service."),
    "ack": Entry(COMMANDS + "ack", "Acknowledge polled messages, or give them back."),
    "tail": Entry(COMMANDS + "tail", "Follow messages as they are posted."),
    "find": Entry(COMMANDS + "find", "Find messages by whatever is known of them, and say where they are."),
    "trace": Entry(COMMANDS + "trace", "Show the whole history of a message's transaction."),
    "explain": Entry(COMMANDS + "explain", "Say which way a message goes, and why."),
    "cancel": Entry(COMMANDS + "cancel", "Withdraw what has not been delivered yet of a message."),
    "dead-letters": Entry(COMMANDS + "dead_letters", "Deal with messages that failed for good."),
    "batches": Entry(COMMANDS + "batches", "List batches: how full each is, when it goes, and why it has not."),
    "batch": Entry(COMMANDS + "batches", "Look after one batch of messages that leave together."),
    "release": Entry(COMMANDS + "release", "Have everything pushed that is held back for a service."),
    "services": Entry(COMMANDS + "services", "Look at services, and register their certificates."),
    "rules": Entry(COMMANDS + "rules", "Look after the rules of services."),
    "assets": Entry(COMMANDS + "assets", "Look after stylesheets, tables, lists, maps, schemas and the like."),
    "bind": Entry(
        COMMANDS + "bindings",
        "Bind a queue to an exchange: what a query, a routing key or both say yes to goes there.",
    ),
    "unbind": Entry(COMMANDS + "bindings", "Remove a binding of an exchange."),
    "bindings": Entry(COMMANDS + "bindings", "Look at what is bound to exchanges."),
    "model": Entry(COMMANDS + "models", "Look after models: trees that messages are routed by."),
    "provision": Entry(COMMANDS + "provision", "Connect services with those of providers."),
    "cookies": Entry(COMMANDS + "cookies", "Look after what services are told of their senders."),
    "login-link": Entry(COMMANDS + "login_link", "Print a link that opens the console and logs you in, once."),
    "confirmations": Entry(
        COMMANDS + "confirmations", "Confirm credentials and members that operators have made for your organization."
    ),
    "support": Entry(COMMANDS + "support", "Ask the network's operators, and read what they answer."),
    "try": Entry(COMMANDS + "trying", "Try a rule, a condition, a stylesheet or a schema before it is switched on."),
    "detect": Entry(COMMANDS + "detect", "Say in which format messages are, by looking at their bytes."),
    "convert": Entry(COMMANDS + "convert", "Put a message into another format, as the network would."),
    "as2": Entry(COMMANDS + "as2", "Make keys for AS2, try it out, and show receipts."),
    "keys": Entry(COMMANDS + "keys", "Make API keys."),
    "limits": Entry(COMMANDS + "limits", "Look after what organizations may take up."),
    "suspend": Entry(COMMANDS + "suspension", "Suspend an organization, or a service (by address or GCID)."),
    "approve": Entry(COMMANDS + "suspension", "Approve an organization that has registered and awaits approval."),
    "resume": Entry(COMMANDS + "suspension", "Let a suspended organization or service take part again."),
    "verify": Entry(COMMANDS + "verify", "Check that the journal is complete and unchanged."),
    "head": Entry(COMMANDS + "head", "Print the journal's head, to keep it elsewhere."),
    "index": Entry(COMMANDS + "index", "Look after the index, which is made from the journal."),
    "bodies": Entry(COMMANDS + "bodies", "Look after stored message bodies."),
    "pipeline": Entry(COMMANDS + "pipeline", "Bring the journal into the warehouse, on Spark."),
    "whatif": Entry(COMMANDS + "whatif", "Say what a change of configuration would have done to logged traffic."),
    "bulk": Entry(COMMANDS + "bulk", "Handle archives of messages on Spark, as the server would."),
    "billing": Entry(COMMANDS + "billing", "Look at bills, issue them, and keep account of payments."),
    "doctor": Entry(COMMANDS + "doctor", "Check this machine and its settings."),
    "bench": Entry(COMMANDS + "bench", "Measure a running network with a quick load."),
    "report": Entry(COMMANDS + "report", "See traffic, errors, latency, partners and what is odd, from the warehouse."),
    "simulate": Entry(
        COMMANDS + "simulate", "Write the journal of a made-up network, for tests, benchmarks and the warehouse."
    ),
}


class Postroad(LazyGroup):
    entries = ENTRIES


@click.group(cls=Postroad, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
