"""Catalogues of schemas: the schemas of a service, and which schema applies to a document.

``schema_texts`` holds the texts of a service's schemas of one kind; ``schema_reader`` reads the name, elements and
references of one text. A ``catalogue`` is all schemas of a service; it finds a ``Schema`` by name or for a document,
together with all texts to which the schema refers. Rule: references resolve only to texts of the same service and kind,
never to addresses.
"""
