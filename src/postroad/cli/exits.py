"""Exit codes that scripts may rely on, and the one place where errors become words on the terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from enum import IntEnum

from postroad.cli.output import Output
from postroad.errors import Misconfigured, PostroadError, Refused, Unavailable


class Exit(IntEnum):
    OK = 0
    ERROR = 1  # settings, files, a check that found faults, or an unexpected error
    CHANGES = 2  # `apply --dry-run` found changes; also click's code for a wrong command line
    REFUSED = 3  # the network said no; trying again the same way will not help
    UNAVAILABLE = 4  # the network cannot be reached or is too busy; try again later
    NOT_COMPARED = 5  # `verify` found no fault, and had nothing to compare the journal with
    INTERRUPTED = 130  # Ctrl-C, as shells count it


@contextlib.contextmanager
def reported(out: Output) -> Iterator[None]:
    """Say what went wrong, in the form that was asked for, and leave with the code that goes with it."""
    try:
        yield
    except Refused as error:
        out.error(error.code, error.detail, pointer=error.pointer, session=error.session)
        sys.exit(Exit.REFUSED)
    except Unavailable as error:
        out.error(error.code, error.detail, retry_after_s=error.retry_after_s)
        sys.exit(Exit.UNAVAILABLE)
    except Misconfigured as error:
        for fault in error.faults:
            out.error("misconfigured", fault)
        sys.exit(Exit.ERROR)
    except BrokenPipeError:
        raise  # whoever read has enough, which is nobody's fault; click ends quietly
    except OSError as error:
        out.error("file.unusable" if error.filename else "system.error", describe(error))
        sys.exit(Exit.ERROR)
    except PostroadError as error:
        out.error("error", str(error))
        sys.exit(Exit.ERROR)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


def describe(error: Exception, file: str = "") -> str:
    """Returns the file and what is wrong with it, without the system's error number."""
    if not isinstance(error, OSError) or not error.strerror:
        return f"{file}: cannot be read: {error}" if file else str(error)
    reason = f"{error.strerror[:1].lower()}{error.strerror[1:]}"
    return f"{name}: {reason}" if (name := file or error.filename) else reason
