"""The stages that one message passes on its way through the network.

A **post** arrives as bytes; a codec decodes it into a ``Message``. ``stages.accept`` asks core whether the post is
admitted and where it is routed, and writes both as one journal entry. From then on the message waits in the
**mailboxes** of the services it was routed to. A service **polls**: ``stages.deliver`` leases the waiting deliveries
and returns them as ``Delivered``. The service then **acknowledges** (``stages.acknowledge``) or answers
(``stages.respond``). A recipient's response is itself routed to the requester; an in-transit service's answer is the
changed message, which continues to the next stop. Every event is an entry; ``core.audit`` builds the history from
them.

Messages for a **send port** are gathered first: ``batching`` runs a worker for each send port that gathers, closes,
assembles and tracks batches, and all changes of a batch go through ``registries.batches``.

Each stage is short because the decisions are in ``core`` and the durable part is in the ``Desk``: a stage turns a
decision into a ``JournalStep``, submits it, and answers when it is committed. ``network.py`` is the only place where
the stages meet.
"""
