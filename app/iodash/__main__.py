"""The program's entry: exit statuses, and the one place where an unforeseen error ends."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from iodash import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs iodash with `argv` (default: the process's arguments). Never raises.

    Returns:
        0 done · 1 could not do it · 2 wrong usage · 130 and 143 stopped by a signal.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments == ["--version"]:  # answered before anything is imported
        status = _print_version()
    else:
        _occupy_closed_descriptors()
        status = _run(arguments)
    return _flush(status)


def _run(arguments: Sequence[str]) -> int:
    from iodash.model.failure import Failure, Stopped, UsageError

    try:
        from iodash.cli import run

        return run(arguments)
    except UsageError as error:
        return _complain(str(error), 2)
    except Failure as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        _discard_output()
        return 0
    except Stopped as stop:
        _discard_output()
        return 128 + stop.number
    except KeyboardInterrupt:
        _discard_output()
        return 130
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:  # noqa: BLE001 - the only one: nobody ever sees a traceback
        return _complain(_report(error), 1)


def _print_version() -> int:
    try:
        if sys.stdout is not None:
            print(f"iodash {__version__}", flush=True)
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        return _complain(f"cannot write to standard output: {error.strerror}", 1)
    return 0


def _complain(message: str, status: int) -> int:
    """Says on standard error, in one line, what is wrong."""
    line = " ".join(message.split())
    try:
        if sys.stderr is not None:
            print(f"iodash: {line}", file=sys.stderr, flush=True)
    except OSError:
        pass  # nobody listens
    if status == 1:
        _discard_output()
    return status


def _report(error: Exception) -> str:
    """Writes the traceback to a file in the state directory; the sentence for the user."""
    import time
    import traceback

    from iodash.formatting.safe_text import safe_text
    from iodash.outputs.folders import state_folder

    summary = f"internal error: {type(error).__name__}: {safe_text(str(error), 200)}"
    folder = state_folder()
    if folder is None:
        return summary
    file = folder / f"crash-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"iodash {__version__}, Python {sys.version}\n")
            traceback.print_exception(error, file=stream)
    except OSError:
        return summary
    return f"{summary}; please report it with {file}"


def _occupy_closed_descriptors() -> None:
    """Fills descriptors 0 to 2 where they are closed, so that no file of ours is taken for standard output."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _discard_output() -> None:
    """Lets what is still buffered for standard output go nowhere, so that the end of the program can't fail on it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    except OSError:
        pass


def _flush(status: int) -> int:
    """Writes what is buffered for standard output."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is closed"
        return status or _complain(f"cannot write to standard output: {reason}", 1)
    return status


if __name__ == "__main__":
    sys.exit(main())
