"""The purchase-order scenario as files: the network that it plays in, and the order; ``examples/purchase-order`` shows them."""
