"""The client for asyncio, which is also the source of the blocking client."""
