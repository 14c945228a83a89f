"""The blocking client: generated from ``postroad.client.nonblocking``, except for its runner."""
