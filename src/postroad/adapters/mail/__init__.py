"""Sends e-mail by SMTP."""
