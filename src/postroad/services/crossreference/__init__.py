"""The cross-reference service: records of different services, related in shared maps."""
