"""Administration: read and change the network on behalf of a caller, with permission checks."""
