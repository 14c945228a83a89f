"""Reads the warehouse's finished tables as files, for the reports and bills of the console and the API."""
