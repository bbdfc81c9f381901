"""A GPU as a line of text: which fields it has room for, and what its words are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.columns.processes import label
from iodash.formatting.cells import cell_width, left, wrap
from iodash.formatting.units import byte_amount, percent, whole
from iodash.model.kinds import HARD_THROTTLES
from iodash.model.missing import Missing
from iodash.ui.panels.disk_course import disk_sparks
from iodash.ui.panels.lines import Line, fitted, width_of
from iodash.ui.widgets.spark import cell_seconds, cells, spark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iodash.model.frame import Frame, GpuRow, ProcessRow
    from iodash.model.sample import GpuProcess
    from iodash.ui.view import View

BUSY_PERCENT = 90
HARDLY_WORKING_SHARE = 0.5

_SILENT_THROTTLE = frozenset({"idle"})

_MAKER = ("NVIDIA ", "Tesla ", "AMD ", "Intel ")

_DRIVER_LABEL = "GPU  "
_LOOKING = "iodash goes on looking: a GPU or a driver that appears is shown, with its history from then on."
_WITHOUT_GPU = (
    "Without one the verdict goes by what the training processes wait for themselves, with medium confidence at most."
)

_GAP = 2
_CELL_GAP = 3
_SMALLEST_CELL = 12


def resident_not_working(row: GpuRow) -> bool:
    """Whether a kernel is on the GPU nearly all the time but the GPU hardly works.

    Utilisation counts any resident kernel, also one that spins for another rank. Below half of the power limit, or of
    the processors, there is no real work (DCGM user guide: SM activity below 0.5 is likely ineffective use).
    """
    if isinstance(row.util_percent, Missing) or row.util_percent < BUSY_PERCENT:
        return False
    if not isinstance(row.sm_active_percent, Missing):
        return row.sm_active_percent < 100 * HARDLY_WORKING_SHARE
    power, limit = row.power_watts, row.power_limit_watts
    if isinstance(power, Missing) or isinstance(limit, Missing) or limit <= 0:
        return False
    return power < HARDLY_WORKING_SHARE * limit


def status_line(row: GpuRow) -> Line | None:
    """The words for a GPU that gives no numbers, None for one that does."""
    if row.status == "ok":
        return None
    word = {"asleep": "quiet", "no_permission": "warn"}.get(row.status, "alarm")
    name = row.status.replace("_", " ")
    text = name if row.status in ("asleep", "no_permission") else name.upper()
    return [(text, word), (f"  {row.message}" if row.message else "", "quiet")]


def condition(row: GpuRow, *, short: bool = False) -> Line:
    """What is remarkable about a GPU that answers: not working, held down, errors."""
    words: list[tuple[str, str]] = []
    if resident_not_working(row):
        words.append(("NOT WORKING" if short else "RESIDENT, NOT WORKING", "warn"))
    reasons = () if isinstance(row.throttle_reasons, Missing) else row.throttle_reasons
    for reason in reasons:
        if reason in _SILENT_THROTTLE:
            continue
        text = reason.replace("_", " ")
        words.append((text.upper(), "warn") if reason in HARD_THROTTLES else (text, "quiet"))
    if not isinstance(row.xid, Missing) and row.xid > 0:
        words.append((f"XID {row.xid}", "alarm"))
    if not isinstance(row.ecc_errors, Missing) and row.ecc_errors > 0:
        words.append((f"ECC {row.ecc_errors}", "alarm"))
    line: Line = []
    for text, word in words:
        if line:
            line.append((" ", ""))
        line.append((text, word))
    return line


def process_words(row: GpuRow, names: Mapping[int, ProcessRow], frame: Frame) -> Line:
    """Who is on the GPU: names of processes of this host, pids of others, the reason where there is no list."""
    if isinstance(row.processes, Missing):
        return [(f"processes: {row.processes.words}", "quiet")]
    pieces: Line = []
    for process in sorted(row.processes, key=lambda one: (not one.visible, one.pid)):
        if pieces:
            pieces.append((", ", "quiet"))
        pieces.append(_process(process, names.get(process.pid), frame))
    if row.processes_note:
        pieces.append((f"{'  ' if pieces else ''}{row.processes_note}", "quiet"))
    return pieces


def _process(process: GpuProcess, row: ProcessRow | None, frame: Frame) -> tuple[str, str]:
    if process.visible and row is not None:
        name = row.role.partition(",")[0] if row.role else label(row)
        return f"~{name}" if process.guess else name, ""
    if process.visible:
        return f"pid {process.pid}", ""
    where = "outside this container" if frame.host.container or frame.host.pid_namespace else "not in /proc"
    return f"pid {process.pid} ({where})", "quiet"


def driver_lines(frame: Frame, width: int, most: int | None, *, ascii: bool = False) -> list[Line]:
    """Why there is no GPU to show, and what to do, in at most `most` lines of `width` cells (None: all it takes)."""
    driver = frame.gpu_driver
    word = "warn" if driver.status in ("version_mismatch", "not_answering", "error") else "quiet"
    text = driver.message or {"ok": "none in this machine", "starting": "asking the driver"}.get(
        driver.status, driver.status.replace("_", " ")
    )
    room = max(1, width - len(_DRIVER_LABEL))
    parts = wrap(text, room)
    if most is not None and len(parts) > most:
        parts = [*parts[: most - 1], " ".join(parts[most - 1 :])]
    labels = [(_DRIVER_LABEL, "title"), *[(" " * len(_DRIVER_LABEL), "")] * (len(parts) - 1)]
    return [
        fitted([label, (part, word)], width, "~" if ascii else "…") for label, part in zip(labels, parts, strict=True)
    ]


def absence_lines(frame: Frame, width: int) -> list[Line]:
    """What the full-screen panel says where there is no GPU: all of `driver_lines`, and what goes on without one."""
    words = [] if frame.gpu_driver.status == "off" else [_LOOKING]
    return [
        *driver_lines(frame, width, None),
        [],
        *([(part, "quiet")] for text in (*words, _WITHOUT_GPU) for part in wrap(text, width)),
    ]


def _short_name(row: GpuRow) -> str:
    name = row.name
    for maker in _MAKER:
        name = name.removeprefix(maker)
    return name


def _is_mig(row: GpuRow) -> bool:
    return isinstance(row.mig, str) and bool(row.mig)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of the line: its cells, and how long it stays on a narrow screen."""

    key: str
    width: int
    keep: int


_NARROWEST_SPARK, _WIDEST_SPARK = 10, 60
_NARROWEST_PROCESSES, _ENOUGH_FOR_PROCESSES = 16, 28


def _fields(rows: Sequence[GpuRow], width: int) -> dict[str, int]:
    """Which fields have room in `width` cells, in their order, each with its cells."""
    name = max(cell_width(_short_name(row)) for row in rows)
    remarkable = max(width_of(condition(row)) for row in rows)
    processes = _NARROWEST_PROCESSES + min(remarkable, max(0, width // 4 - _NARROWEST_PROCESSES))
    wanted = [
        _Field("index", max(2, *(cell_width(row.number) for row in rows)), 100),
        _Field("name", min(name, 20), 40),
        _Field("spark", _NARROWEST_SPARK, 85),
        _Field("util", 4, 99),
        _Field("memory", 11, 80),
        _Field("power", 9, 75),
        _Field("temperature", 4, 50),
        _Field("receive", 12, 60),
        _Field("send", 7, 30),
        _Field("activity", 7, 20),
        _Field("processes", processes, 70),
    ]
    fields = [field for field in wanted if field.width]
    while len(fields) > 1 and sum(field.width + _GAP for field in fields) - _GAP > width:
        fields.remove(min(fields, key=lambda field: field.keep))
    chosen = {field.key: field.width for field in fields}
    left_over = width - sum(field.width + _GAP for field in fields) + _GAP
    for key, most in (("spark", 20), ("processes", _ENOUGH_FOR_PROCESSES), ("spark", _WIDEST_SPARK)):
        if key in chosen and left_over > 0:
            more = min(left_over, max(0, most - chosen[key]))
            chosen[key] += more
            left_over -= more
    if "processes" in chosen:
        chosen["processes"] += left_over
    return chosen


def utilisation_cells(
    row: GpuRow, frame: Frame, view: View, width: int, seconds: float | None = None
) -> list[float | None]:
    """The utilisation of the last `width` cells: the driver's own samples, the polled value where there are none.

    A cell stands for `seconds`, by default for as long as in every sparkline.
    """
    seconds = seconds or cell_seconds(view.delay)
    needed = int(width * seconds / min(view.delay, 0.15)) + 8
    sampled = cells(view.history.last(row.uuid, "util_samples", needed), frame.time, seconds, width)
    if len(sampled) > 1 and sampled[-1] is None:
        sampled[-1] = sampled[-2]  # the driver's newest sample may lie just before the newest cell
    if None not in sampled:
        return sampled
    polled = view.course(row.uuid, "util_percent", frame.time, width, seconds)
    return [one if one is not None else other for one, other in zip(sampled, polled, strict=True)]


def _field_pieces(key: str, width: int, row: GpuRow, frame: Frame, view: View, names: Mapping[int, ProcessRow]) -> Line:
    units = view.lettered
    if key == "index":
        return [(f"{row.number:>{width}}", "strong")]
    if key == "name":
        return [(left(_short_name(row), width, "~" if view.ascii else "…"), "")]
    if key == "spark":
        return [(spark(utilisation_cells(row, frame, view, width), ascii=view.ascii), "spark")]
    if key == "util":
        known = "" if isinstance(row.util_percent, Missing) else "%"
        return [(f"{percent(row.util_percent) + known:>{width}}", "strong" if known else "quiet")]
    if key == "memory":
        used, total = byte_amount(row.memory_used_bytes, units), byte_amount(row.memory_total_bytes, units)
        return [(f"{used:>5}", ""), (f"/{total:<5}", "quiet")]
    if key == "power":
        limit = "" if isinstance(row.power_limit_watts, Missing) else f"/{whole(row.power_limit_watts)}W"
        return [(f"{whole(row.power_watts):>4}", ""), (f"{limit:<{width - 4}}", "quiet")]
    if key == "temperature":
        known = "" if isinstance(row.temperature_celsius, Missing) else "C"
        return [(f"{whole(row.temperature_celsius) + known:>{width}}", "")]
    if key == "receive":
        return [("PCIe r ", "quiet"), (f"{byte_amount(row.pcie_receive_bytes_per_s, units):>5}", "read")]
    if key == "send":
        return [("s ", "quiet"), (f"{byte_amount(row.pcie_transmit_bytes_per_s, units):>5}", "write")]
    if key == "activity":
        return [("SM ", "quiet"), (f"{percent(row.sm_active_percent):>3}", "")]
    remarkable = condition(row)
    return [*remarkable, ("  " if remarkable else "", ""), *process_words(row, names, frame)]


def _cell(
    row: GpuRow, fields: Mapping[str, int], frame: Frame, view: View, names: Mapping[int, ProcessRow], width: int
) -> Line:
    """One GPU in exactly `width` cells.

    What is remarkable stands before the processes, and in the place of numbers where there is no room for processes.
    """
    ellipsis = "~" if view.ascii else "…"
    line: Line = []
    instead = status_line(row)
    before: tuple[str, ...] = ("index", "name")
    if instead is None and "processes" not in fields:
        instead = condition(row, short=True) or None
        before = ("index", "name", "spark", "util")
    for key, cells_wide in fields.items():
        if instead is not None and key not in before:
            break
        if line:
            line.append((" " * _GAP, ""))
        if _is_mig(row) and key in ("spark", "util") and isinstance(row.util_percent, Missing):
            pieces = _mig_pieces(key, cells_wide, "spark" in fields)
        else:
            pieces = fitted(_field_pieces(key, cells_wide, row, frame, view, names), cells_wide, ellipsis)
        line.extend(pieces)
        line.append((" " * (cells_wide - width_of(pieces)), ""))
    if instead is not None:
        line += [(" " * _GAP, ""), *instead]
    line = fitted(line, width, ellipsis)
    return [*line, (" " * (width - width_of(line)), "")]


def _mig_pieces(key: str, width: int, has_spark: bool) -> Line:
    if key == "spark":
        return [(left("n/a (MIG)", width), "quiet")]
    return [(f"{'' if has_spark else 'n/a':>{width}}", "quiet")]


def _names(frame: Frame) -> dict[int, ProcessRow]:
    """The process rows of every pid on a GPU; of a process shown by threads its first thread."""
    wanted = {process.pid for gpu in frame.gpus if not isinstance(gpu.processes, Missing) for process in gpu.processes}
    found: dict[int, ProcessRow] = {}
    if wanted:
        for row in frame.processes:
            pid = row.key.pid
            if pid in wanted and (pid not in found or row.key.tid == pid):
                found[pid] = row
    return found


def gpu_lines(frame: Frame, view: View, width: int, most: int | None) -> list[Line]:
    """The GPUs of a frame in at most `most` lines of `width` cells (None: a line each).

    When there are more GPUs than lines, as many stand beside each other as it takes, each with the fields that have
    room. When even that is not enough the last place says how many are left out. Lines left over show what the disks
    did beneath the GPUs' sparklines, so that a gap stands above the burst that caused it.
    """
    rows = list(frame.gpus)
    beside = 1
    if most is not None and most > 0:
        beside = -(-len(rows) // most)
    beside = max(1, min(beside, (width + _CELL_GAP) // (_SMALLEST_CELL + _CELL_GAP)))
    height = -(-len(rows) // beside)
    room_beneath = None if most is None else most - height
    left_out = 0
    if most is not None and height > most:
        left_out = len(rows) - (most * beside - 1)
        rows = rows[: most * beside - 1]
        height = most
    cell = (width - _CELL_GAP * (beside - 1)) // beside
    fields = _fields(rows or frame.gpus, cell)
    names = _names(frame) if "processes" in fields else {}
    drawn = [_cell(row, fields, frame, view, names, cell) for row in rows]
    if left_out:
        drawn.append([(left(f"+{left_out} more", cell), "quiet")])
    lines: list[Line] = []
    for y in range(height):
        line: Line = []
        for index in range(y, len(drawn), height):  # down the columns, as one reads a list
            if line:
                line.append((" " * _CELL_GAP, ""))
            line.extend(drawn[index])
        lines.append(line)
    if beside == 1 and "spark" in fields and not left_out:
        before = sum(fields[key] + _GAP for key in ("index", "name") if key in fields)
        lines += disk_sparks(frame, view, before, fields["spark"], 2 if room_beneath is None else room_beneath)
    return [fitted(line, width, "~" if view.ascii else "…") for line in lines]
