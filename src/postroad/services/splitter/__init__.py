"""The splitter service: splits interchanges into documents and acknowledges them."""
