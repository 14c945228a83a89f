"""Hierarchical routing: a model is a tree of nodes, and topics travel along the tree.

    Model (as written) ──ModelIndex.of──▶ ModelIndex ──publish(producer, topic)──▶ consumers, depth first
       ▲  model.py, model_documents.py       │ add, move, remove, attach, detach: in place
       └───────────── described ─────────────┘

A node has a tag and topics. Services attach to it as producers and as consumers. What a producer publishes reaches the
consumers of that topic at its node and below, but never those under a nearer producer of the same topic. So the consumers
of a topic form **regions**, one for each node that produces it, and a region in depth-first order *is* the row of the
routing table: ``topic_table.py`` holds the regions, ``sorted_chunks.py`` is their sequence, ``keys.py`` the order.

A model is part of the configuration, every node and attachment an object of its own:

    ModelChange ──resolve_change──▶ ResolvedChange ──list_changed_objects──▶ saved ──open / apply_changes──▶ ModelIndex
                   changes.py                           saved_model.py                  saved_model.py

``inspection.py`` shows a model page by page, with who would receive a message, and why others would not.

Rules: publishing visits only the receivers; the cost of a change depends on what it changes, however large the tree is.
"""
