"""What a node keeps at hand: live views of configuration, batches and interchanges."""
