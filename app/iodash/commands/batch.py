"""`iodash -b`: frames to standard output, as text, JSON lines or CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.outputs.console import emit, emit_lines, terminal_width, warn
from iodash.outputs.row_filter import row_filter
from iodash.outputs.select import absence, absent_devices, absent_pids, select_devices, select_processes
from iodash.sources import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from iodash.model.frame import Frame
    from iodash.model.settings import Settings
    from iodash.outputs.csv import CsvWriter


def run_batch(settings: Settings, output_format: str) -> int:
    """Prints frames in `output_format`: `text`, `json` or `csv`.

    Raises:
        Failure: the machine can't be read or the output not be written.
        Stopped: a signal came.
    """
    # A process row that is printed has all its fields; CSV has none.
    print_frames(settings, _printer(settings, output_format), every_field=output_format != "csv")
    return 0


def print_frames(settings: Settings, show: Callable[[Frame], None], *, every_field: bool) -> None:
    """Shows a frame each delay until `iter` were shown, and writes it to `output` too, if that is set.

    Every frame, the first too, covers one delay. What was asked for and isn't there is named once.

    Raises:
        Failure: the machine can't be read or the output not be written.
        Stopped: a signal came.
    """
    csv_file = _csv_file(settings)
    warned = False

    def handle(frame: Frame) -> None:
        nonlocal warned
        show(frame)
        if csv_file is not None:
            csv_file.write(frame)
        if not warned:
            _warn_of_choice(frame, settings)
            warned = True

    try:
        source = open_source(settings.procfs, settings.sysfs, gpu=settings.gpu, wait_for_gpu=True)
        demand = Demand(threads=settings.threads, every_field=every_field)
        Stream(source, settings.delay, demand, frozenset(settings.pid)).run(handle, settings.iter)
    finally:
        if csv_file is not None:
            csv_file.close()


def _warn_of_choice(frame: Frame, settings: Settings) -> None:
    """Says what of the user's choice can't be as it was meant."""
    if because := row_filter(settings.filter).literal_because:
        warn(f"the filter is searched literally: {because}")
    absent = absence(
        process=absent_pids(frame.processes, settings.pid), device=absent_devices(frame.devices, settings.device)
    )
    if absent:
        warn(absent)


def _csv_file(settings: Settings) -> CsvWriter | None:
    if settings.output is None:
        return None
    from iodash.outputs.csv import CsvWriter

    return CsvWriter(settings.output, settings)


def _printer(settings: Settings, output_format: str) -> Callable[[Frame], None]:
    if output_format == "json":
        from iodash.outputs.json import frame_line

        def print_json(frame: Frame) -> None:
            processes = select_processes(frame.processes, settings)
            emit(frame_line(frame, processes=processes, devices=select_devices(frame.devices, settings)) + "\n")

        return print_json
    if output_format == "csv":
        from iodash.outputs.csv import CsvWriter

        return CsvWriter(emit, settings).write
    from iodash.outputs.text import TextWriter

    writer = TextWriter(settings)
    return lambda frame: emit_lines(writer.lines(frame, terminal_width()))
