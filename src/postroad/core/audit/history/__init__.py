"""Histories of transactions and batches, and the status of each copy, built from journal entries alone."""
