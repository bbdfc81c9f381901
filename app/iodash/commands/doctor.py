"""`iodash doctor`: watches for a while, then says what holds the GPUs back, and what this host hides."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import TYPE_CHECKING

from iodash.commands.options import OPTIONS, add_options, near, one_of, settings_of
from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.config import configured_settings
from iodash.diagnosis.causes import CAUSES, NO_BLAME
from iodash.diagnosis.checkup import check_host
from iodash.model.failure import Failure
from iodash.outputs.console import emit_lines, show_progress, warn
from iodash.outputs.doctor import doctor_json, doctor_lines
from iodash.outputs.select import absence, absent_pids
from iodash.sources import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame, Verdict

MATCHED = 3
"""The exit status when a cause of `--fail-on` was found."""

_OPTIONS = tuple(option for option in OPTIONS if option.field in ("delay", "pid", "gpu", "procfs", "sysfs"))
_LONGEST_S = 86400.0


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command's options."""
    parser = commands.add_parser(
        "doctor",
        help="what holds the GPUs back, with the evidence",
        description="Watches for a while, then says what holds the GPUs back, with the evidence, and what this host "
        "hides from iodash and how to show it.",
        epilog=textwrap.fill(f"causes: {', '.join(CAUSES)}", break_on_hyphens=False),
    )
    parser.add_argument("--for", dest="duration", type=_seconds, default=30.0, metavar="SECONDS", help="default 30")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--fail-on",
        type=_causes,
        default=frozenset(),
        metavar="CAUSE[,CAUSE…]|any",
        help=f"end with status {MATCHED} when one of these causes is found; `any` is every one that blames something, "
        "at medium or high confidence",
    )
    add_options(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Prints the verdicts. Status 3 when one is in `--fail-on`.

    Raises:
        Failure: the machine can't be read, or the named process is gone.
        Stopped: a signal came.
    """
    settings = settings_of(arguments, configured_settings())
    frames: list[Frame] = []

    watched_s = 0.0

    def watch(frame: Frame) -> None:
        nonlocal watched_s
        watched_s += frame.interval_s
        frames[:] = [frame]
        if settings.pid and len(absent_pids(frame.processes, settings.pid)) == len(settings.pid):
            stream.enough()
        if frame.verdict is not None:
            show_progress(f"watching… {frame.verdict.cause.replace('_', ' ')} ({frame.verdict.confidence})")

    source = open_source(settings.procfs, settings.sysfs, gpu=settings.gpu, wait_for_gpu=True)
    stream = Stream(source, settings.delay, Demand(), pinned=frozenset(settings.pid))
    try:
        stream.run(watch, max(1, round(arguments.duration / settings.delay)))
    finally:
        show_progress("")
    frame = frames[0]
    if absent := absence(process=absent_pids(frame.processes, settings.pid)):
        warn(absent)
    if frame.verdict is None:
        raise Failure("the GPU driver has not answered yet: watch longer with --for")
    checks = check_host(frame)
    if arguments.format == "json":
        emit_lines([doctor_json(frame.verdict, frame.verdicts, checks, watched_s)])
    else:
        emit_lines(doctor_lines(frame.verdicts, checks, watched_s))
    return MATCHED if _matches(frame.verdicts, arguments.fail_on) else 0


def _matches(verdicts: Sequence[Verdict], causes: frozenset[str]) -> bool:
    for verdict in verdicts:
        if verdict.cause in causes:
            return True
        if "any" in causes and verdict.cause not in NO_BLAME and verdict.confidence != "low":
            return True
    return False


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time to watch: give seconds, more than 0 and at most {_LONGEST_S:.0f}"
        )
    return seconds


def _causes(text: str) -> frozenset[str]:
    causes = [cause.strip() for cause in text.split(",")]
    for cause in causes:
        if cause != "any" and cause not in CAUSES:
            known = near(cause, (*CAUSES, "any")) or one_of("the causes are", (*CAUSES, "any"))
            raise argparse.ArgumentTypeError(f"there is no cause {cause!r}{known}")
    return frozenset(causes)
