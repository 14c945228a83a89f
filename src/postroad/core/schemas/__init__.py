"""Catalogues of schemas: what a service can validate documents against, and which schema is for which document.

Words: the *texts* of a service's schemas of one kind stand on a *shelf* (``shelf``); what one text says about itself is read in
``reading``. A *catalogue* (``catalogue``) is a service's shelves; it finds a ``Schema`` by name or for a document, together with
all texts that the schema refers to. Rule: a reference leads to a text on the same shelf or nowhere, never to an address.
"""
