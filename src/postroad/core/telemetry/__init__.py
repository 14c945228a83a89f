"""Traces: the W3C trace context of messages, spans derived from journal entries, and their OTLP encoding."""
