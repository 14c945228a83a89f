"""The demo: a network that starts, a purchase order that travels through it, and its trace."""
