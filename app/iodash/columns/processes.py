"""The fields of a process. The order is that of the JSON; `PROCESS_RATES` is the table on screen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from iodash.columns.column import Column, plain
from iodash.formatting.units import DASH, Units, byte_amount, count, percent, whole
from iodash.model.missing import Missing, Number

if TYPE_CHECKING:
    from iodash.model.frame import ProcessRow


def read_plus_write(row: ProcessRow) -> Number:
    """Bytes read and written a second: what the screen is sorted by at the start."""
    return row.read_bytes_per_s + row.write_bytes_per_s


def _moment(value: Any, units: Units) -> str:
    return DASH if isinstance(value, Missing) else f"{datetime.fromtimestamp(value, UTC):%m-%d %H:%M}"


def shown_name(row: ProcessRow) -> str:
    """The name; that of a kernel thread stands in brackets."""
    return f"[{row.name}]" if row.kernel_thread else row.name


def label(row: ProcessRow) -> str:
    """The name and what the job adds: `train.py  rank 0, 8 workers`."""
    name = shown_name(row)
    if not row.role:
        return name
    return row.role if row.role.startswith(row.name) else f"{name}  {row.role}"


def command_line(row: ProcessRow) -> str:
    """The full command line; the name in brackets of a kernel thread, and the plain name of what has none."""
    return shown_name(row) if row.kernel_thread or not row.command else row.command


def command_text(row: ProcessRow, part: str | None = None) -> str:
    """The command line behind the part in a job, which is the row's role unless `part` puts it otherwise."""
    part = row.role if part is None else part
    return f"{part}  {command_line(row)}" if part else command_line(row)


def _tid(row: ProcessRow) -> int | Missing:
    return row.key.tid or Missing.NOT_MEASURED


PROCESS_COLUMNS: tuple[Column[ProcessRow], ...] = (
    Column("pid", "PID", "", 7, whole, "Process id, as this host's /proc names it.", lambda r: r.key.pid, keep=100),
    Column("tid", "TID", "", 7, whole, "Thread id, in thread mode.", _tid, keep=100),
    Column("ppid", "PPID", "", 7, whole, "Parent process id."),
    Column("name", "NAME", "", 15, plain, "The kernel's name of the process (comm).", is_text=True),
    Column(
        "command",
        "COMMAND",
        "",
        0,
        plain,
        "Name, and what the job adds to it; `c` shows the full command line.",
        keep=97,
        is_text=True,
    ),
    Column("user", "USER", "", 8, plain, "Owner.", keep=60, is_text=True),
    Column("uid", "UID", "", 6, whole, "Owner's number."),
    Column(
        "state",
        "S",
        "",
        1,
        plain,
        "R running, S sleeping, D waiting for I/O, Z zombie, T stopped.",
        keep=20,
        is_text=True,
    ),
    Column("threads", "THR", "", 4, whole, "How many threads it has."),
    Column("start_time", "START", "s (Unix)", 11, _moment, "When it started (UTC)."),
    Column(
        "read_bytes_per_s",
        "READ/s",
        "B/s",
        6,
        byte_amount,
        "Bytes fetched from storage for it. 0 when the page cache had them.",
        keep=99,
    ),
    Column(
        "write_bytes_per_s",
        "WRITE/s",
        "B/s",
        7,
        byte_amount,
        "Bytes it made dirty or wrote to storage. The device writes them when they are flushed.",
        keep=98,
    ),
    Column(
        "cancelled_write_bytes_per_s",
        "CANC/s",
        "B/s",
        6,
        byte_amount,
        "Dirty bytes that it threw away before they reached storage, by deleting or truncating a file.",
    ),
    Column(
        "logical_read_bytes_per_s",
        "RCHAR/s",
        "B/s",
        7,
        byte_amount,
        "Bytes it asked for by read calls, whoever served them: storage, page cache, pipe or tmpfs.",
    ),
    Column("logical_write_bytes_per_s", "WCHAR/s", "B/s", 7, byte_amount, "Bytes it handed over by write calls."),
    Column("read_calls_per_s", "RCALL/s", "/s", 7, count, "Read system calls."),
    Column("write_calls_per_s", "WCALL/s", "/s", 7, count, "Write system calls."),
    Column(
        "cache_hit_percent",
        "CACHE%",
        "%",
        6,
        percent,
        "Share of the bytes it read by calls that did not come from storage. A dash where storage gave more than they "
        "asked for (whole pages, read-ahead, mapped files), and for FUSE.",
        keep=40,
    ),
    Column(
        "io_delay_percent",
        "IO%",
        "%",
        4,
        percent,
        "Share of the time it waited for block I/O. Needs kernel.task_delayacct=1, for processes started after that.",
        keep=70,
    ),
    Column("cpu_percent", "CPU%", "%", 5, percent, "100 is one CPU.", keep=65),
    Column("resident_bytes", "RES", "B", 5, byte_amount, "Memory it holds."),
    Column(
        "read_bytes_total", "READ", "B", 6, byte_amount, "Bytes fetched from storage since iodash started.", keep=99
    ),
    Column("write_bytes_total", "WRITE", "B", 7, byte_amount, "Bytes written since iodash started.", keep=98),
    Column(
        "major_faults_per_s",
        "MAJF/s",
        "/s",
        6,
        count,
        "Page faults that had to wait for storage, as reading mapped files does.",
    ),
    Column("io_priority", "PRIO", "", 6, plain, "I/O class and level, as ionice.", is_text=True),
    Column("cgroup", "CGROUP", "", 24, plain, "Its control group.", is_text=True),
    Column("container", "CONTAINER", "", 14, plain, "Its container.", is_text=True),
    Column("gpus", "GPU", "", 4, plain, "Indexes of the GPUs it is on.", keep=50, is_text=True),
    Column("gpu_memory_bytes", "GMEM", "B", 5, byte_amount, "GPU memory it holds."),
    Column("gpu_sm_percent", "SM%", "%", 4, percent, "Share of GPU time its kernels ran."),
    Column("job", "JOB", "", 12, plain, "The training job it belongs to.", is_text=True),
    Column("role", "ROLE", "", 12, plain, "Its part in that job.", is_text=True),
)

_BY_KEY = {column.key: column for column in PROCESS_COLUMNS}

PROCESS_RATES: tuple[str, ...] = (
    "pid",
    "user",
    "state",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "cache_hit_percent",
    "io_delay_percent",
    "cpu_percent",
    "gpus",
    "command",
)
"""The keys of the process table on screen, in order."""

PROCESS_ACCUMULATED: tuple[str, ...] = tuple(
    {"read_bytes_per_s": "read_bytes_total", "write_bytes_per_s": "write_bytes_total"}.get(key, key)
    for key in PROCESS_RATES
)
"""The same with totals since iodash started in place of rates."""

READ_PLUS_WRITE: Column[ProcessRow] = Column(
    "read_write_bytes_per_s", "R+W/s", "B/s", 6, byte_amount, "Bytes read and written a second.", read_plus_write
)
"""What the screen is sorted by at the start; shown as the sorted READ/s column."""

PROCESS_TIES: tuple[Column[ProcessRow], ...] = (_BY_KEY["io_delay_percent"], _BY_KEY["cpu_percent"])
"""What breaks ties: I/O delay, then CPU."""
