"""Send ports: gather messages into batches, assemble interchanges and follow their outcomes."""
