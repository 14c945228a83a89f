"""Runs the hosted services: mailbox workers, the runner of deliveries, and their order."""
