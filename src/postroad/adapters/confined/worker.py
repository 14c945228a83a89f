"""Starts one worker process, sends it one call at a time, and reports why it died.

Rule: a worker that did not answer in time, sent an invalid answer, or was abandoned by a cancelled caller is killed
and never used again. Workers have no state worth saving, so healthy workers are stopped by killing, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from enum import Enum
from pathlib import Path

import msgspec

import postroad
from postroad.adapters.confined.frames import (
    HEADER_BYTES,
    OVERHEAD_BYTES,
    SourceAnswers,
    WorkerCall,
    WorkerOutcome,
    WorkerTerms,
    encode_frame,
    read_outcome,
    read_ready,
)
from postroad.adapters.confined.pipes import StandardErrorPipe
from postroad.errors import Misconfigured, Unavailable

START_TIMEOUT_S = 60.0  # the engine is a file of 100 MB; on a cold and busy disk that takes its time
SOURCE_FOLDER = str(Path(postroad.__file__).parents[1])
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from postroad.adapters.confined.worker_main import main; sys.exit(main(sys.argv[2]))"
)
_OUT_OF_MEMORY = ("OutOfMemoryError", "memory allocation of", "MemoryError")  # the names in Saxon, Rust and Python


class Death(Enum):
    """Why a worker ended without an outcome."""

    DEADLINE = "transform.timeout"
    MEMORY = "transform.memory"
    TOO_MUCH = "transform.output-too-large"
    CRASH = "transform.failed"
    FROM_OUTSIDE = "network.unavailable"  # it was killed: the operator, or the system when memory ran short


class WorkerDied(Exception):
    """The worker is gone, and the call with it."""

    def __init__(self, death: Death, status: int | None) -> None:
        super().__init__(f"{death.name.lower()} (exit status {status})")
        self.death = death
        self.status = status


class Worker:
    """A started and confined process. All methods belong to the event loop that started it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        requests: asyncio.StreamWriter,
        outcomes: asyncio.StreamReader,
        printed: int,
    ) -> None:
        self._process = process
        self._requests = requests
        self._outcomes = outcomes
        self._printed = printed
        self.calls = 0

    @classmethod
    async def start(cls, terms: WorkerTerms, engine: str) -> Worker:
        """Start a process with this engine (``worker_main``), confined; raises Misconfigured if it cannot be."""
        worker = await cls._spawn(engine)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                ready = read_ready(await worker._exchange(encode_frame(terms), OVERHEAD_BYTES))
        except (TimeoutError, OSError, asyncio.IncompleteReadError, msgspec.DecodeError):
            reason = worker._last_words().strip().rpartition("\n")[2]
            await worker.end()
            raise _not_started(reason) from None
        except BaseException:
            await worker.end()
            raise
        if ready.faults:
            await worker.end()
            raise Misconfigured(ready.faults)
        return worker

    @classmethod
    async def _spawn(cls, engine: str) -> Worker:
        printed, printing = os.pipe()
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-I", "-c", BOOT, SOURCE_FOLDER, engine, str(printed))
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=printing,
                pass_fds=(printed,),
                env={},
                cwd="/",  # Saxon takes it for the base of relative addresses
                start_new_session=True,  # what is typed at the server's terminal is for the server
            )
        except BaseException as fault:
            os.close(printed)
            raise (_not_started(str(fault)) if isinstance(fault, OSError) else fault) from None
        finally:
            os.close(printing)
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a process started with pipes has them")
        return cls(process, process.stdin, process.stdout, printed)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def call(self, work: WorkerCall, deadline_s: float) -> WorkerOutcome | SourceAnswers:
        """Return the outcome of one call; raises WorkerDied if there is none."""
        self.calls += work.weight
        try:
            async with asyncio.timeout(deadline_s):
                return read_outcome(await self._exchange(encode_frame(work), work.largest_outcome))
        except TimeoutError:
            death = Death.DEADLINE
        except asyncio.LimitOverrunError:
            death = Death.TOO_MUCH
        except (OSError, asyncio.IncompleteReadError, msgspec.DecodeError):
            death = await self._cause()
        except BaseException:
            await self.end()
            raise
        await self.end()
        raise WorkerDied(death, self._process.returncode)

    def kill(self) -> None:
        """Kills the process; a pending call then fails."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """Kills the process and waits until it is gone. Must not be called while a call is pending."""
        self.kill()
        self._requests.close()
        if self._printed >= 0:
            os.close(self._printed)
            self._printed = -1
        with contextlib.suppress(OSError):
            await self._outcomes.read()
        await self._process.wait()

    async def _exchange(self, frame: bytes, largest: int) -> bytes:
        try:
            self._requests.write(frame)
        except RuntimeError as error:  # uvloop raises it when it has already closed the pipe to a dead process
            raise BrokenPipeError(str(error)) from error
        await self._requests.drain()
        length = int.from_bytes(await self._outcomes.readexactly(HEADER_BYTES), "big")
        if length > largest:
            raise asyncio.LimitOverrunError("the outcome is larger than its limit", length)
        return await self._outcomes.readexactly(length)

    async def _cause(self) -> Death:
        """Return why the pipes broke, from the exit status and the last output."""
        try:
            async with asyncio.timeout(1):
                status = await self._process.wait()
        except TimeoutError:
            return Death.CRASH
        if status == -signal.SIGXCPU:
            return Death.DEADLINE
        if status in (-signal.SIGKILL, -signal.SIGTERM):
            return Death.FROM_OUTSIDE
        said = self._last_words()
        return Death.MEMORY if any(words in said for words in _OUT_OF_MEMORY) else Death.CRASH

    def _last_words(self) -> str:
        return StandardErrorPipe(self._printed).take()


def _not_started(reason: str) -> Unavailable:
    detail = f"No transform worker could be started: {reason[:300] or 'no reason given'}"
    return Unavailable("network.unavailable", detail)
