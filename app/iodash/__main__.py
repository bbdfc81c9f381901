"""The program's entry: exit statuses, and the one place where an unforeseen error ends."""

from __future__ import annotations

import errno
import os
import sys

from iodash import __version__


def main(argv: list[str] | None = None) -> int:
    """Runs iodash with `argv` (default: the process's arguments). Never raises.

    Returns:
        0 done · 1 could not do it · 2 wrong usage · 3 `--fail-on` matched · 128 plus its number after a signal.
    """
    arguments = sys.argv[1:] if argv is None else argv
    try:
        _occupy_closed_descriptors()
        return _run(arguments)
    except KeyboardInterrupt:  # also while the rest is being loaded
        return 130


def _run(arguments: list[str]) -> int:
    from iodash.model.failure import Failure, Stopped, UsageError
    from iodash.outputs.console import emit

    try:
        if arguments == ["--version"]:  # answered before anything else is loaded
            emit(f"iodash {__version__}\n")
            return 0
        return _run_with_threads(arguments)
    except UsageError as error:
        return _complain(str(error), 2)
    except Failure as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        return 0
    except Stopped as stop:
        return 128 + stop.number
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:  # noqa: BLE001 - the only one: nobody ever sees a traceback
        return _complain(_explain(error), 1)


def _run_with_threads(arguments: list[str]) -> int:
    """Runs the command. What ended one of its threads is told when the screen is gone, not printed across it."""
    import threading

    from iodash.cli import run

    ended: list[str] = []

    def note(failure: threading.ExceptHookArgs) -> None:
        if isinstance(failure.exc_value, Exception):
            ended.append(_explain(failure.exc_value))

    before, threading.excepthook = threading.excepthook, note
    status = 0
    try:
        status = run(arguments)
    finally:
        threading.excepthook = before
        for sentence in ended:
            status = _complain(sentence, status or 1)
    return status


def _complain(message: str, status: int) -> int:
    from iodash.outputs.console import warn

    warn(message)
    return status


def _explain(error: Exception) -> str:
    """The sentence for the user; the traceback goes to a file in the state directory."""
    import time
    import traceback

    from iodash.formatting.safe_text import safe_text
    from iodash.outputs.folders import state_folder

    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too few files may be open at once: run `ulimit -n 1024` before iodash"
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


if __name__ == "__main__":
    sys.exit(main())
