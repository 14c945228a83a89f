"""Push: post messages to the servers of services, with slots, retries and failure tracking."""
