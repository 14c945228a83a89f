"""Debian packages that a benchmark needs: root gets them installed, everyone else is told their names."""

from __future__ import annotations

import os
import shutil
import subprocess


def install(*names: str) -> None:
    """Install them where that is possible; whether it helped is for the caller to see."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names]
    if subprocess.run(command, check=False, env=environment, capture_output=True).returncode:
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=environment, capture_output=True)
        subprocess.run(command, check=False, env=environment, capture_output=True)


def wanted(*names: str) -> str:
    return f"as root on Debian: apt-get install --no-install-recommends {' '.join(names)}"
