"""The JSON resources, one module each: what they are called, who may ask, and how they are written.

A resource reads the request, puts a question to ``flow`` and writes the answer; nothing is decided here.
"""
