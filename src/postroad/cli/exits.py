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
    except (PostroadError, OSError) as error:
        out.error("error", _words(error))
        sys.exit(Exit.ERROR)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


def _words(error: PostroadError | OSError) -> str:
    """Which file, and what is wrong with it; without the number that the system has for it."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return str(error)
