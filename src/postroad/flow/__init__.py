"""The stages that one message passes on its way through the network.

A **post** arrives as bytes; a codec makes a ``Message`` of it. ``accept`` asks core whether it is admitted and which way it goes,
and writes both down as one journal entry: from then on it waits in the **mailboxes** of the services it was routed to. A service
**polls**: ``deliver`` leases what waits there and hands it out as ``Delivered``. The service **acknowledges** (``settle``), or
answers (``answer``): a recipient's response is itself routed to the one who asked, an in-transit service's answer is the
changed message, which goes on to the next stop. Whatever happens is an entry; ``history`` tells it again.

What comes to a **send port** is gathered first: ``batching`` has a batcher for each, ``batch_port`` takes, closes, assembles and
sees batches through, and ``batch_book`` is where all who change a batch meet.

Each stage is short because the decisions are in ``core`` and the durable part is in the ``Desk``: a stage turns a decision into a
``Step``, submits it, and answers when it is committed. ``network.py`` is the only place where the stages meet.
"""
