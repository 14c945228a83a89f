"""The exchange service: sends messages to queues by their bindings."""
