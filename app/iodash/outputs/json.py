"""A frame as JSON, schema `iodash.frame/1`: one object a line, a number that is not known as null with its reason."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from iodash.model.frame import SCHEMA, DeviceRow, GpuRow, ProcessRow, SystemRow, UnattributedRow
from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from iodash.model.frame import Frame, Verdict
    from iodash.model.sample import Host

_TABLE_ROWS = (SystemRow, DeviceRow, ProcessRow, GpuRow, UnattributedRow)
_INTERNAL = {ProcessRow: frozenset({"key", "kernel_thread"})}
_DECIMALS = 6


@cache
def _field_names(row_type: Any) -> tuple[str, ...]:
    hidden = _INTERNAL.get(row_type, frozenset())
    return tuple(item.name for item in fields(row_type) if item.name not in hidden)


def _plain(value: Any) -> Any:
    """A value as JSON holds it. Floats are rounded to a millionth, far below what is measured."""
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return row_object(value)
    return value


def row_object(row: Any) -> dict[str, Any]:
    """The fields of a row under their own names, in their order, with the reasons of those that are missing.

    The rows of the tables always have `missing`, the small objects inside them only when something is.
    """
    result: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name in _field_names(row.__class__):
        value = getattr(row, name)
        if value.__class__ is float and not isfinite(value):
            value = Missing.NOT_MEASURED
        if value.__class__ is Missing:
            result[name] = None
            missing[name] = value.value
        else:
            result[name] = _plain(value)
    if missing or isinstance(row, _TABLE_ROWS):
        result["missing"] = missing
    return result


def process_object(row: ProcessRow, *, threads: bool = False) -> dict[str, Any]:
    """A process, or a thread with its `tid` in thread mode."""
    identity = {"pid": row.key.pid, "tid": row.key.tid} if threads else {"pid": row.key.pid}
    return identity | row_object(row)


def verdict_object(verdict: Verdict | None) -> dict[str, Any] | None:
    """A verdict with its evidence; the processes that it is about as PIDs."""
    if verdict is None:
        return None
    return row_object(verdict) | {"processes": [key.pid for key in verdict.processes]}


def host_object(host: Host) -> dict[str, Any]:
    """The machine that a frame is from."""
    return {"name": host.name, "kernel": host.kernel, "container": host.container}


def utc_time(seconds: float) -> str:
    """Unix seconds as ISO 8601 in UTC with milliseconds: `2026-11-30T02:40:00.123Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def frame_object(
    frame: Frame, *, processes: Iterable[ProcessRow] | None = None, devices: Iterable[DeviceRow] | None = None
) -> dict[str, Any]:
    """A frame as plain dictionaries and lists. `processes` and `devices` stand in for all of its rows."""
    return {
        "schema": SCHEMA,
        "time": utc_time(frame.time),
        "interval_s": round(frame.interval_s, _DECIMALS),
        "host": host_object(frame.host),
        "system": row_object(frame.system),
        "devices": [row_object(row) for row in (frame.devices if devices is None else devices)],
        "processes": [
            process_object(row, threads=frame.threads) for row in (frame.processes if processes is None else processes)
        ],
        "unattributed": row_object(frame.unattributed),
        "gpu_driver": row_object(frame.gpu_driver),
        "gpus": [row_object(row) for row in frame.gpus],
        "verdict": verdict_object(frame.verdict),
        "verdicts": [verdict_object(verdict) for verdict in frame.verdicts],
        "self": row_object(frame.own),
        "cpus": [row_object(row) for row in frame.cpus],
        "interfaces": [row_object(row) for row in frame.interfaces],
        "notes": list(frame.notes),
    }


def frame_line(
    frame: Frame, *, processes: Sequence[ProcessRow] | None = None, devices: Sequence[DeviceRow] | None = None
) -> str:
    """A frame as one line of JSON, pure ASCII, without the line's end."""
    document = frame_object(frame, processes=processes, devices=devices)
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
