"""AS2: receive messages and MDNs from partners, and send asynchronous MDNs."""
