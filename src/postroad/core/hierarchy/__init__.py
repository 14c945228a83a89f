"""Hierarchical routing: a model is a tree of nodes, and topics travel along the tree.

    Model (as written) ──ModelIndex.of──▶ ModelIndex ──publish(producer, topic)──▶ consumers, depth first
       ▲  nouns.py, shapes.py                │ add, move, remove, attach, detach: in place
       └───────────── described ─────────────┘

A node has a tag and topics. Services attach to it as producers and as consumers. What a producer publishes reaches the consumers
of that topic at its node and below, but never those under a nearer producer of the same topic. So the consumers of a topic fall
into **regions**, one for each node that produces it, and a region in depth-first order *is* the row of the routing table:
``topic_table.py`` keeps them, ``lane.py`` is the sequence they are kept in, ``keys.py`` the order.

A model lives in the configuration, every node and attachment an object of its own:

    Piece (a change) ──worked_out──▶ WorkedOut ──objects_of──▶ saved ──opening / follow──▶ ModelIndex
          pieces.py                       saving.py                        saved.py

``looking.py`` shows it page by page, and says who would receive what, and why others would not.

Rules: publishing looks at nobody but those who receive; a change touches what it changes, however large the tree is.
"""
