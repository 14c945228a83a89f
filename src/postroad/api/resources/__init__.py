"""The JSON resources, one module each: their paths, permissions and shapes.

A resource reads the request, calls ``flow`` and writes the answer; it contains no decisions.
"""
