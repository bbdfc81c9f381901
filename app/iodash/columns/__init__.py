"""Every field once, as data: what feeds the tables on screen, sorting, help, batch text, CSV and the documentation."""

from iodash.columns.column import Column, find_column, sort_rows
from iodash.columns.devices import DEVICE_COLUMNS, DEVICE_SHORT
from iodash.columns.gpus import GPU_COLUMNS
from iodash.columns.processes import PROCESS_ACCUMULATED, PROCESS_COLUMNS, PROCESS_RATES
from iodash.columns.system import SYSTEM_COLUMNS

__all__ = [
    "DEVICE_COLUMNS",
    "DEVICE_SHORT",
    "GPU_COLUMNS",
    "PROCESS_ACCUMULATED",
    "PROCESS_COLUMNS",
    "PROCESS_RATES",
    "SYSTEM_COLUMNS",
    "Column",
    "find_column",
    "sort_rows",
]
