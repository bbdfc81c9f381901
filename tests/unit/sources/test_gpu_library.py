"""Finding NVIDIA's library without loading it, and saying why there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from iodash.sources.local.gpu.client import GpuReader
from iodash.sources.local.gpu.library import SONAME, Library, absence, find_library, nvidia_devices

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


def put(path: Path, content: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_there_is_none(tmp_path: Path) -> None:
    assert find_library(tmp_path) is None


def test_the_search_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = put(tmp_path / "mine" / SONAME)
    put(tmp_path / "usr/lib64" / SONAME)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere::{tmp_path / 'mine'}")
    assert find_library(tmp_path) == Library(mine, preload=False)


def test_the_loaders_cache_is_believed_only_for_files_that_are_there(tmp_path: Path) -> None:
    known = f"/opt/driver/{SONAME}".encode()
    put(tmp_path / "etc/ld.so.cache", b"glibc-ld.so.cache1.1\0libz.so.1\0/lib/libz.so.1\0" + known + b"\0rest\0")
    assert find_library(tmp_path) is None
    there = put(tmp_path / "opt/driver" / SONAME)
    assert find_library(tmp_path) == Library(there, preload=False)


def test_the_default_directories(tmp_path: Path) -> None:
    there = put(tmp_path / f"usr/lib/{os.uname().machine}-linux-gnu" / SONAME)
    assert find_library(tmp_path) == Library(there, preload=False)


@pytest.mark.parametrize("place", ["usr/lib/wsl/lib", "run/opengl-driver/lib"])
def test_places_where_the_loader_does_not_look(tmp_path: Path, place: str) -> None:
    there = put(tmp_path / place / SONAME)
    assert find_library(tmp_path) == Library(there, preload=True)


def pci_gpu(sysfs: Path, address: str, vendor: bytes = b"0x10de\n", kind: bytes = b"0x030200\n") -> None:
    put(sysfs / "bus/pci/devices" / address / "vendor", vendor)
    put(sysfs / "bus/pci/devices" / address / "class", kind)


def test_display_devices_of_nvidia_are_told_from_their_sound_and_from_others(tmp_path: Path) -> None:
    pci_gpu(tmp_path, "0000:41:00.0")
    pci_gpu(tmp_path, "0000:01:00.0")
    pci_gpu(tmp_path, "0000:01:00.1", kind=b"0x040300\n")
    pci_gpu(tmp_path, "0000:02:00.0", vendor=b"0x1002\n")
    (tmp_path / "bus/pci/devices/0000:03:00.0").mkdir()
    assert nvidia_devices(tmp_path) == ["0000:01:00.0", "0000:41:00.0"]
    assert nvidia_devices(tmp_path / "nowhere") == []


def test_why_there_is_none(tmp_path: Path) -> None:
    procfs, sysfs = tmp_path / "proc", tmp_path / "sys"
    assert "no GPU driver on this host" in absence(procfs, sysfs, tmp_path)
    pci_gpu(sysfs, "0000:01:00.0")
    assert "on the PCI bus, but no driver" in absence(procfs, sysfs, tmp_path)
    put(tmp_path / ".dockerenv")
    assert "docker run --gpus all" in absence(procfs, sysfs, tmp_path)
    put(procfs / "driver/nvidia/version")
    assert "NVIDIA_DRIVER_CAPABILITIES=utility" in absence(procfs, sysfs, tmp_path)
    (tmp_path / ".dockerenv").unlink()
    assert "user-space package" in absence(procfs, sysfs, tmp_path)


def test_gpus_that_are_switched_off_are_not_looked_for(tmp_path: Path) -> None:
    reader = GpuReader(tmp_path, tmp_path, enabled=False)
    reader.start()
    reader.wait_first(5)
    driver, gpus = reader.read(())
    assert (driver.status, gpus, reader.own()) == ("off", (), (0.0, 0))
    reader.close()
