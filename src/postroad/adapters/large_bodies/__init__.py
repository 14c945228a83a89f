"""Large bodies read in confined worker processes, so that no parser holds the server's event loop up."""
