"""The container image without a container engine: its steps are run, and what it starts runs under the same restrictions.

Process 1, uid 65532, a read-only file system, and /data: `tests/packages/contained` makes these with the kernel's namespaces.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from postroad.testing.ports import free_port
from tests.samples.installed_wheel import make_environment
from tests.source_tree import ROOT, repository_files
from tests.waiting import eventually

CONTAINED = Path(__file__).with_name("contained")
USER = 65532
DEAF = ("tests", "docs", "examples", ".git", "var")  # what must not be sent to the container engine


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, continued lines joined."""
    text = (ROOT / "deploy" / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, " ".join(rest.split())) for word, rest in lines]


def values(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def environment() -> dict[str, str]:
    """The variables of the image."""
    return dict(item.split("=", 1) for line in values("ENV") for item in shlex.split(line))


def sent() -> list[Path]:
    """The files that .dockerignore lets through: it names what is sent, and nothing else is."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    assert patterns[0] == "*"
    named = [ROOT / pattern[1:] for pattern in patterns if pattern.startswith("!")]
    assert [path for path in named if not path.exists()] == []
    return [path for path in repository_files() if any(path == one or one in path.parents for one in named)]


def copied_source(folder: Path) -> Path:
    """Do what the first stage's COPY lines do, with what is sent."""
    first, _ = " ".join(f"\n{word} {rest}" for word, rest in instructions()).split("\n FROM", 1)[0], None
    for line in re.findall(r"^ ?COPY (.+)$", first, re.M):
        *sources, target = line.split()
        for source in sources:
            if source.startswith("--"):
                break
            _copy(ROOT / source, folder / target.strip("/"), into=target.endswith("/"))
    return folder / "source"


def _copy(source: Path, target: Path, *, into: bool) -> None:
    found = [path for path in sent() if path == source or source in path.parents]
    assert found, f"{source.name} is not sent to the container engine"
    for path in found:
        place = target / path.relative_to(source) if path != source else target / path.name if into else target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image has in /opt/postroad: made by its RUN step, with locked requirements that are there already."""
    folder = tmp_path_factory.mktemp("image")
    make_environment(folder / "postroad", copied=True)
    [step] = [line for line in values("RUN") if "deploy/container/install" in line]
    source = copied_source(folder)
    command = step.replace("/source", str(source)).replace("/opt/postroad", str(folder / "postroad"))
    variables = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    offline = variables | {"PIP_NO_INDEX": "1", "PYTHON": sys.executable}
    done = subprocess.run(command, shell=True, env=offline, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [health] = [line.split() for line in values("COPY") if "healthy.py" in line]
    shutil.copyfile(ROOT / health[0], folder / "postroad" / Path(health[1]).name)
    return folder / "postroad"


@cache
def can_contain() -> bool:
    """Whether this user may make namespaces and mount in them."""
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    tried = ["unshare", "--mount", "--pid", "--fork", "mount", "--make-rprivate", "/"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@contextmanager
def contained(image: Path, folder: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command as the container would."""
    if not can_contain():
        pytest.skip("namespaces and another user need root on Linux, outside an unprivileged container")
    root, data = folder / "root", folder / "data"
    root.mkdir(exist_ok=True)
    data.mkdir(mode=0o700, exist_ok=True)
    os.chown(data, USER, USER)
    words = ["sh", str(CONTAINED), str(root), str(Path(sys.executable).resolve().parents[1]), str(image), str(data)]
    pipe = subprocess.PIPE
    with subprocess.Popen([*words, *command], stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run_contained(image: Path, folder: Path, *command: str) -> tuple[int, str]:
    with contained(image, folder, *command) as process:
        output, _ = process.communicate(timeout=240)
        return process.returncode, output


def first_process(process: subprocess.Popen[str]) -> int:
    """The number that the machine gives to the container's process 1."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


def test_the_containerfile_keeps_to_the_rules() -> None:
    assert [len(values(word)) for word in ("FROM", "USER", "ENTRYPOINT", "CMD", "HEALTHCHECK")] == [2, 1, 1, 1, 1]
    assert values("USER") == [f"{USER}:{USER}"]
    assert values("VOLUME") == ['["/data"]']
    assert values("STOPSIGNAL") == ["SIGTERM"]
    assert values("ENTRYPOINT") + values("CMD") == ['["postroad"]', '["serve"]']
    assert values("EXPOSE") == ["8470"]
    assert set(values("FROM")) == {"${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"}
    assert environment()["POSTROAD_DATA"] == "/data"


def test_only_what_is_needed_is_sent_to_the_container_engine() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in sent()}
    assert "src/postroad/py.typed" in names
    assert [name for name in names if name.startswith(DEAF) or name.endswith(".key")] == []


def test_these_tests_set_the_variables_of_the_image() -> None:
    given = CONTAINED.read_text()
    assert [name for name, value in environment().items() if name != "PATH" and f"{name}={value}" not in given] == []


def test_the_steps_install_the_package_and_only_the_lock(image: Path) -> None:
    shown = subprocess.run(
        [image / "bin" / "python", "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stdout
    assert (next((image / "lib").glob("python3*")) / "site-packages" / "postroad" / "py.typed").exists()


def test_a_container_can_write_to_its_data_and_nowhere_else(image: Path, tmp_path: Path) -> None:
    tried = (
        "for f in / /usr /opt/postroad /etc /tmp /data; do (echo x > $f/x) 2>/dev/null && echo $f; done; id -u; echo $$"
    )
    assert run_contained(image, tmp_path, "sh", "-c", tried) == (0, f"/data\n{USER}\n1\n")


@pytest.mark.req("O7")
def test_the_server_runs_reports_its_health_and_stops_on_the_stop_signal(image: Path, tmp_path: Path) -> None:
    port = str(free_port())
    check = shlex.split(re.sub(r'[\[\],"]', " ", values("HEALTHCHECK")[0].partition("CMD ")[2]))
    with contained(image, tmp_path, "env", f"POSTROAD_PORT={port}", "postroad", "serve") as process:

        def is_ready() -> bool:
            assert process.poll() is None, process.stdout and process.stdout.read()
            try:
                return bool(urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").status == 200)
            except OSError:
                return False

        eventually(is_ready)
        assert run_contained(image, tmp_path, "env", f"POSTROAD_PORT={port}", *check) == (0, "")
        login = [
            "login-link",
            "--url",
            f"http://127.0.0.1:{port}",
            "--key-file",
            "/data/operator.key",
        ]  # as on the page
        code, link = run_contained(image, tmp_path, "postroad", *login)
        assert (code, "/login/link?once=" in link) == (0, True), link
        os.kill(first_process(process), signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    code, said = run_contained(image, tmp_path, "env", f"POSTROAD_PORT={port}", *check)
    assert (code, "refused" in said) == (1, True)


def test_the_demo_runs_with_a_read_only_file_system(image: Path, tmp_path: Path) -> None:
    """It needs XSLT, scripts and the index process, each in a confined process of its own."""
    code, output = run_contained(
        image, tmp_path, "postroad", "demo", "--once", "--data", "/data/demo", "--port", str(free_port())
    )
    assert code == 0, output
    assert "Springfield" in output
