"""Commands for the operator of a network: serve, verify, index, doctor, benchmarks and support."""
