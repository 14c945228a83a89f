"""Ends with 0 if the server in this container can be used, else with 1: the health check of deploy/Containerfile.

It uses the port and the protocol that variables of the container set. It does not check the certificate, which is issued for the
network's name and not for this container.

A node of a shared network must be ready. A single node must have started: while its disk is nearly full it is not ready, but must
get the polls and acknowledgments that free space, and no restart.
"""

import os
import ssl
import sys
import urllib.request


def is_ready() -> bool:
    """Whether the server answers the health check with 200 within four seconds."""
    scheme = "https" if os.environ.get("POSTROAD_TLS_CERTIFICATE") else "http"
    path = "readyz" if os.environ.get("POSTROAD_ACCEPTANCE") == "shared" else "startupz"
    url = f"{scheme}://127.0.0.1:{os.environ.get('POSTROAD_PORT', '8470')}/{path}"
    unchecked = ssl._create_unverified_context()  # noqa: S323 - this machine alone
    try:
        with urllib.request.urlopen(url, timeout=4, context=unchecked) as answer:  # noqa: S310 - http or https
            return bool(answer.status == 200)
    except OSError as error:
        print(f"{url}: {error}")
        return False


if __name__ == "__main__":
    sys.exit(0 if is_ready() else 1)
