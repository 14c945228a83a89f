"""The profile of a service with a value for every field that a client can set."""

from __future__ import annotations

PROFILE = {
    "name": "Orders",
    "description": "Takes purchase orders",
    "category": "supply",
    "operations": ["order", "cancel"],
    "visibility": "public",
    "authentication": ["key", "certificate"],
    "delivery": "push",
    "push": {
        "url": "https://aster.example/in",
        "authentication": "bearer",
        "username": "",
        "secretFrom": "env:ASTER",
        "tries": 5,
        "retryIntervalSeconds": 60,
    },
    "windows": [{"days": ["mon", "fri"], "opens": "22:00", "closes": "06:00"}],
    "timeZone": "Europe/Berlin",
    "format": "soap12",
    "documentationUrl": "https://aster.example/docs",
    "arguments": [{"name": "priority", "description": "1 to 9", "required": True}],
    "provisioningUrl": "https://aster.example/provision",
    "policy": {"transport": "tls", "authentication": "key", "exceptFor": ["Birch", "Cedar/Zip"]},
    "logicalOnly": False,
    "defaultExpirationSeconds": 3600,
    "accepts": "listed",
    "acceptsFrom": ["Birch", "Cedar/Out"],
    "mayIncludeServices": False,
    "documentAccess": [{"service": "Cedar/Zip", "read": ["order"], "change": []}],
    "limits": {"messageBytes": 1_000_000, "queuedMessages": 500, "waitingMessages": 5_000},
}
