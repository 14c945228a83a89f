"""Exit codes that scripts can rely on, and the conversion of errors to messages."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from enum import IntEnum

from postroad.cli.framework.output import Output
from postroad.errors import Misconfigured, PostroadError, Refused, Unavailable


class ExitCode(IntEnum):
    OK = 0
    ERROR = 1  # settings, files, a check that found faults, or an unexpected error
    CHANGES = 2  # `apply --dry-run` found changes; also click's code for a wrong command line
    REFUSED = 3  # the network said no; trying again the same way will not help
    UNAVAILABLE = 4  # the network cannot be reached or is too busy; try again later
    NOT_COMPARED = 5  # `verify` found no difference, and had nothing to compare the journal with
    INTERRUPTED = 130  # Ctrl-C, as shells count it


@contextlib.contextmanager
def report_errors(out: Output) -> Iterator[None]:
    """Print an error in the requested form, and exit with its code."""
    try:
        yield
    except Refused as error:
        out.error(error.code, error.detail, pointer=error.pointer, session=error.session)
        sys.exit(ExitCode.REFUSED)
    except Unavailable as error:
        out.error(error.code, error.detail, retry_after_s=error.retry_after_s)
        sys.exit(ExitCode.UNAVAILABLE)
    except Misconfigured as error:
        for fault in error.faults:
            out.error("misconfigured", fault)
        sys.exit(ExitCode.ERROR)
    except BrokenPipeError:
        raise  # the reader closed the pipe, which is not an error; click ends quietly
    except OSError as error:
        out.error("file.unusable" if error.filename else "system.error", describe_error(error))
        sys.exit(ExitCode.ERROR)
    except PostroadError as error:
        out.error("error", str(error))
        sys.exit(ExitCode.ERROR)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


def describe_error(error: Exception, file: str = "") -> str:
    """Return the file and its error, without the system's error number."""
    if not isinstance(error, OSError) or not error.strerror:
        return f"{file}: cannot be read: {error}" if file else str(error)
    reason = f"{error.strerror[:1].lower()}{error.strerror[1:]}"
    return f"{name}: {reason}" if (name := file or error.filename) else reason
