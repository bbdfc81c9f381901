"""Small proc and sys trees for readers to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STAT = b"""cpu  100 10 50 800 20 5 5 10 7 3
cpu0 60 5 30 400 10 3 3 4 7 0
cpu1 40 5 20 400 10 2 2 6 0 3
intr 123456 1 2 3 0 0
ctxt 654321
btime 1796011200
processes 4321
procs_running 3
procs_blocked 1
softirq 99 1 2
"""
MEMINFO = b"""MemTotal:       1000000 kB
MemFree:         200000 kB
MemAvailable:    600000 kB
Buffers:          10000 kB
Cached:          300000 kB
SwapCached:        7777 kB
SwapTotal:       500000 kB
SwapFree:        400000 kB
Dirty:             1234 kB
Writeback:           56 kB
WritebackTmp:       999 kB
Shmem:            40000 kB
SReclaimable:     25000 kB
"""
VMSTAT = b"""nr_free_pages 50000
workingset_refault_anon 5
workingset_refault_file 77
pgpgin 1000
pgpgout 2000
pswpin 30
pswpout 40
pgmajfault 12
"""
NET_DEV = b"""Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0
  eth0:123456789 2 0 0 0 0 0 0 987654321 3 0 0 0 0 0 0
  veth1: 700 2 0 0 0 0 0 0 800 3 0 0 0 0 0 0
"""


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def proc_tree(root: Path) -> Path:
    """A proc tree of a machine with two CPUs, without devices."""
    procfs = root / "proc"
    for name, content in {
        "stat": STAT,
        "meminfo": MEMINFO,
        "vmstat": VMSTAT,
        "loadavg": b"0.50 0.25 0.10 2/300 4321\n",
        "uptime": b"1000.50 1900.00\n",
        "net/dev": NET_DEV,
        "pressure/cpu": b"some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n",
        "pressure/io": b"some avg10=0.00 avg60=0.00 avg300=0.00 total=2000\nfull avg10=0.00 avg60=0.00 total=1500\n",
        "pressure/memory": b"some avg10=0.00 total=30\nfull avg10=0.00 total=20\n",
        "sys/kernel/hostname": b"gpu-node-07\n",
        "sys/kernel/osrelease": b"6.18.0-test\n",
        "sys/kernel/task_delayacct": b"1\n",
        "diskstats": b"",
        "1/mountinfo": b"1 0 8:2 / / rw - ext4 /dev/sda2 rw\n",
        "2/comm": b"kthreadd\n",
    }.items():
        write(procfs / name, content)
    return procfs


class SysTree:
    """A sys tree that grows block devices."""

    def __init__(self, root: Path) -> None:
        self.path = root / "sys"
        (self.path / "class/block").mkdir(parents=True)
        (self.path / "dev/block").mkdir(parents=True)

    def add(
        self,
        name: str,
        number: str,
        *,
        partition_of: str | None = None,
        slaves: tuple[str, ...] = (),
        **files: str,
    ) -> Path:
        """A block device. `files` are its entries; `__` in a key stands for `/`."""
        entry = name.replace("/", "!")
        folder = self.path / "devices" / (partition_of.replace("/", "!") if partition_of else "") / entry
        folder.mkdir(parents=True)
        write(folder / "dev", number + "\n")
        if partition_of:
            write(folder / "partition", "1\n")
        (folder / "slaves").mkdir()
        for slave in slaves:
            (folder / "slaves" / slave).symlink_to(self.path / "class/block" / slave)
        for key, value in files.items():
            write(folder / key.replace("__", "/"), value + "\n")
        (self.path / "class/block" / entry).symlink_to(folder)
        if number != "0:0":
            (self.path / "dev/block" / number).symlink_to(folder)
        return folder


def disk_line(name: str, number: str, *fields: int) -> str:
    """A line of diskstats; without fields all seventeen are 0."""
    major, minor = number.split(":")
    return f"{major:>4} {minor:>7} {name} {' '.join(map(str, fields or (0,) * 17))}\n"
