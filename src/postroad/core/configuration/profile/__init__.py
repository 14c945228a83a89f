"""The profile of a service as people write it, one module per part."""
