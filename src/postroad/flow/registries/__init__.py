"""Live views of stored state on a node: configuration, batches and interchanges."""
