"""Facts of a job's member: whom it talks to, over real sockets."""

from __future__ import annotations

import os
import socket
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.sample import ProcessKey
from iodash.sources.local.job_facts import member_facts
from iodash.sources.local.topology import Blocks

if TYPE_CHECKING:
    from iodash.model.missing import Count

PROC, SYS = Path("/proc"), Path("/sys")


def facts_of(pid: int, procfs: Path = PROC) -> Count:
    *_, facts = member_facts(procfs, Blocks(procfs, SYS), ProcessKey(pid, 1))
    return facts.remote_sockets


def own_address() -> str:
    """An address of this host beyond the loopback; connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.77", 9))
        except OSError:
            pytest.skip("this host has no address but the loopback")
        return str(probe.getsockname()[0])


@pytest.mark.parametrize(("server", "client"), [("::", "127.0.0.1"), ("::", "::1"), ("127.0.0.1", "127.0.0.1")])
def test_talking_over_the_loopback_is_not_talking_to_other_hosts(server: str, client: str) -> None:
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    try:
        listener = socket.create_server((server, 0), family=family, dualstack_ipv6=server == "::")
    except (OSError, ValueError):
        pytest.skip("no IPv6 here")
    with listener, socket.create_connection((client, listener.getsockname()[1])), listener.accept()[0]:
        assert facts_of(os.getpid()) == 0


@pytest.mark.parametrize("dual", [False, True])
def test_talking_to_ones_own_address_is_not_talking_to_other_hosts(dual: bool) -> None:
    address = own_address()
    server = ("::", 0) if dual else (address, 0)
    family = socket.AF_INET6 if dual else socket.AF_INET
    with (
        socket.create_server(server, family=family, dualstack_ipv6=dual) as listener,
        socket.create_connection((address, listener.getsockname()[1])),
        listener.accept()[0],
    ):
        assert facts_of(os.getpid()) == 0


def printed(address: str) -> str:
    """An address as the kernel prints it: numbers of four bytes, in this machine's byte order, in hexadecimal."""
    packed = ip_address(address).packed
    return "".join(f"{int.from_bytes(packed[at : at + 4], sys.byteorder):08X}" for at in range(0, len(packed), 4))


def connections(*pairs: tuple[str, str, int]) -> str:
    lines = [
        f"{number:4}: {printed(own)}:1F90 {printed(other)}:C350 01 0:0 0:0 0 0 0 {inode} 1 x"
        for number, (own, other, inode) in enumerate(pairs)
    ]
    return "\n".join(
        ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode", *lines, ""]
    )


def test_connections_to_other_hosts_are_counted(tmp_path: Path) -> None:
    process = tmp_path / "7"
    (process / "fd").mkdir(parents=True)
    (process / "net").mkdir()
    for number, inode in enumerate((101, 102, 103, 104)):
        (process / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
    (process / "net/tcp").write_text(connections(("10.0.0.5", "10.0.0.6", 101), ("10.0.0.5", "10.0.0.5", 102)))
    (process / "net/tcp6").write_text(
        connections(
            ("::ffff:10.0.0.5", "::ffff:10.0.0.7", 103),
            ("fd00::5", "fd00::6", 104),
            ("fd00::5", "fd00::7", 999),
        )
    )
    assert facts_of(7, tmp_path) == 3
