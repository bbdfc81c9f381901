"""Bytes of network interfaces and InfiniBand ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.model.sample import InterfaceCounters
from iodash.sources.local.kept_file import KeptFile, list_names, read_int
from iodash.sources.local.trees import is_own

if TYPE_CHECKING:
    from pathlib import Path

_INFINIBAND_HARDWARE = 32
_WORD_BYTES = 4
"""InfiniBand ports count in units of four bytes (Documentation/ABI/stable/sysfs-class-infiniband)."""


class NetworkReader:
    """Reads all interfaces of the network namespace, and the ports whose traffic bypasses it.

    Which ones count in the machine's sum (`physical`) is looked up only when their names change: those with a device
    behind them, or, where none has one as in most containers, all but the loopback. IP over InfiniBand is left out of
    the sum where the port below is counted. With another machine's proc tree it is its first process's namespace.
    """

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        names = ("net/dev",) if is_own(procfs) else ("1/net/dev", "net/dev")
        self._files = tuple(KeptFile(procfs / name) for name in names)
        self._sysfs = sysfs
        self._names: tuple[bytes, ...] | None = None
        self._physical: frozenset[bytes] = frozenset()
        self._shown: dict[bytes, str] = {}
        self._ports: tuple[tuple[str, KeptFile, KeptFile], ...] = ()

    def read(self) -> tuple[InterfaceCounters, ...] | Missing:
        """The interfaces as they are now, InfiniBand ports last."""
        content: bytes | Missing = Missing.NOT_IN_CONTAINER
        for file in self._files:
            content = file.read()
            if not isinstance(content, Missing):
                break
        if isinstance(content, Missing):
            return content
        counted = parse_interfaces(content)
        names = tuple(counted)
        if names != self._names:
            self._look_up(names)
        rows = [
            InterfaceCounters(self._shown[name], received, sent, name in self._physical)
            for name, (received, sent) in counted.items()
        ]
        for port, received_file, sent_file in self._ports:
            received_words, sent_words = _whole(received_file.read()), _whole(sent_file.read())
            if received_words is not None and sent_words is not None:
                rows.append(InterfaceCounters(port, received_words * _WORD_BYTES, sent_words * _WORD_BYTES, True))
        return tuple(rows)

    def close(self) -> None:
        """Lets go of the kept descriptors."""
        for file in self._files:
            file.close()
        self._close_ports()

    def _look_up(self, names: tuple[bytes, ...]) -> None:
        self._names = names
        self._shown = {name: safe_text(name) for name in names}
        self._find_ports()
        folder = self._sysfs / "class/net"
        behind = set()
        over_infiniband = set()
        for name in names:
            text = name.decode("utf-8", "surrogateescape")
            if (folder / text / "device").exists():
                behind.add(name)
                if self._ports and read_int(folder / text / "type") == _INFINIBAND_HARDWARE:
                    over_infiniband.add(name)
        self._physical = frozenset(behind - over_infiniband if behind else (name for name in names if name != b"lo"))

    def _find_ports(self) -> None:
        self._close_ports()
        ports = []
        folder = self._sysfs / "class/infiniband"
        for device in list_names(folder):
            for port in list_names(folder / device / "ports"):
                counters = folder / device / "ports" / port / "counters"
                if (counters / "port_rcv_data").exists():
                    files = (KeptFile(counters / "port_rcv_data"), KeptFile(counters / "port_xmit_data"))
                    ports.append((safe_text(f"{device}:{port}"), *files))
        self._ports = tuple(ports)

    def _close_ports(self) -> None:
        for _, received, sent in self._ports:
            received.close()
            sent.close()
        self._ports = ()


def parse_interfaces(content: bytes) -> dict[bytes, tuple[int, int]]:
    """Bytes received and sent of each interface of a /proc/net/dev."""
    found: dict[bytes, tuple[int, int]] = {}
    for line in content.split(b"\n"):
        name, colon, rest = line.rpartition(b":")
        if not colon:
            continue
        fields = rest.split(None, 9)
        try:
            found[name.strip()] = (int(fields[0]), int(fields[8]))
        except (ValueError, IndexError):
            continue
    return found


def _whole(content: bytes | Missing) -> int | None:
    try:
        return None if isinstance(content, Missing) else int(content)
    except ValueError:
        return None
