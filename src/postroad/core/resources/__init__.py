"""The wire types of the HTTP API: one type per resource, encoded by the server and decoded by the SDK.

OpenAPI is made from the same types.
"""
