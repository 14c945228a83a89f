"""The peer: a private RabbitMQ node on loopback ports, tuned as its operators would.

It has its own data, cookie, name and port mapper, so that it neither disturbs nor joins a node that already runs. Schedulers do
not spin when they have nothing to do (``+sbwt none``), so that its CPU time is work; logging is down to warnings; no plugins.
Queues are quorum queues and messages are persistent: a confirm means that the message was synced to disk, as with us.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from benchmarks.certificates import Certificate
from benchmarks.packages import install, wanted
from benchmarks.processes import can_connect, free_port, stop, wait_until

PACKAGE = "rabbitmq-server"
PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
NO_SPINNING = "+sbwt none +sbwtdcpu none +sbwtdio none"


def missing() -> str:
    """Why there is no peer, in words for the reader; empty when there is one."""
    if not _is_installed():
        install(PACKAGE)
    return "" if _is_installed() else f"RabbitMQ is not installed; {wanted(PACKAGE)}"


def _is_installed() -> bool:
    return PROGRAM.exists() and shutil.which("epmd") is not None


def version() -> str:
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "rabbitmq-server"], capture_output=True, text=True, check=False
    )
    erlang = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "erlang-base"], capture_output=True, text=True, check=False
    )
    return f"{shown.stdout.partition('-')[0]} on Erlang {erlang.stdout.partition(':')[2].partition('+')[0]}"


class RabbitMq:
    """One node, started on entry and removed on exit; ``port`` speaks AMQP, ``tls_port`` the same over TLS."""

    def __init__(self, folder: Path, certificate: Certificate) -> None:
        self.port, self.tls_port = free_port(), free_port()
        self._folder = folder
        self._log = folder / "rabbitmq.log"
        self._epmd_port = free_port()
        folder.mkdir(parents=True)
        self._write_configuration(certificate)

    def _write_configuration(self, certificate: Certificate) -> None:
        (self._folder / "enabled_plugins").write_text("[].\n")
        (self._folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.default = 127.0.0.1:{self.port}\n"
            f"listeners.ssl.default = 127.0.0.1:{self.tls_port}\n"
            f"ssl_options.certfile = {certificate.chain}\n"
            f"ssl_options.keyfile = {certificate.key}\n"
            "ssl_options.verify = verify_none\n"
            "log.console = true\nlog.console.level = warning\nlog.file = false\n"
        )

    def _environment(self) -> dict[str, str]:
        place = str(self._folder)
        return {
            "PATH": os.environ["PATH"],
            "HOME": place,  # where Erlang keeps its cookie
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"postroad-bench-{self.port}@localhost",
            "RABBITMQ_CONFIG_FILE": f"{place}/rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": f"{place}/none.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{place}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{place}/mnesia",
            "RABBITMQ_LOG_BASE": f"{place}/log",
            "RABBITMQ_PID_FILE": f"{place}/pid",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": NO_SPINNING,
        }

    def __enter__(self) -> RabbitMq:
        environment = self._environment()
        with self._log.open("wb") as log:
            mapper = ["epmd", "-port", str(self._epmd_port), "-address", "127.0.0.1"]
            self._mapper = subprocess.Popen(mapper, env=environment, stdout=log, stderr=log, start_new_session=True)
            self._server = subprocess.Popen(
                [str(PROGRAM)],
                env=environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(lambda: can_connect(self.port) and can_connect(self.tls_port), self._server, "RabbitMQ", self._log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._server)
        stop(self._mapper)

    @property
    def process_ids(self) -> list[int]:
        return [self._server.pid, self._mapper.pid]
