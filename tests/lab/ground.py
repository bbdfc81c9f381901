"""The ground a scenario is played on: data sets, slow disks and mounts, control groups, trainers; and its clearing.

A ground lives in a process with a mount namespace of its own, so that mounts go with it. What outlives a process
(control groups, loop devices, network namespaces) carries the ground's name and is removed by `clear`, which may also
be called from another process.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.lab.nvml.build import compiler, library_directory
from tests.lab.nvml.busy import create
from tests.lab.nvml.scenario import Scenario
from tests.lab.slow_fuse import mount
from tests.lab.trainer import Run, arguments, make_dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.lab.nvml.scenario import Value

ROOT = Path(__file__).resolve().parents[2]
CGROUPS = Path("/sys/fs/cgroup")
_PATIENCE_S = 15.0


class NotHereError(Exception):
    """This machine lacks what a scenario needs; the message says what."""


class Ground:
    """What one scenario may use. `name` is in the name of everything that it leaves outside of its directory."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.busy = create(directory / "busy")
        self.environment: dict[str, str] = {}
        self.started: list[subprocess.Popen[str]] = []
        self.watched: list[int] = []
        self._servers: list[subprocess.Popen[str]] = []

    def gpus(self, keys: Mapping[str, Value]) -> None:
        """Simulates GPUs, live ones unless the keys say otherwise."""
        if compiler() is None:
            raise NotHereError("no C compiler to build the simulated NVML library")
        played = {"busy": str(self.busy), "count": 1, "gpu.gpm": 1, **keys}
        self.environment = Scenario(self.directory / "gpus", played).environment(library_directory())

    def data(self, files: int, size: int, name: str = "data", *, hot: bool = False) -> Path:
        """A data set on the machine's own disk, in the page cache or not."""
        made = make_dataset(self.directory / name, files, size)
        for path in () if hot else made.iterdir():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        return made

    def fuse(self, files: int, size: int, **pace: float) -> Path:
        """A data set on a slow FUSE mount."""
        _need_root()
        point = self._folder("bucket")
        self._serve([str(make_dataset(self.directory / "served", files, size)), str(point)], pace)
        return point

    def disk(self, files: int, size: int, room: int = 64 << 20, **pace: float) -> Path:
        """A data set on a slow disk: a loop device with an ext4 of its own."""
        _need_root()
        _need_program("mkfs.ext4", "losetup")
        content, images = self._folder("content"), self._folder("images")
        make_dataset(content / "data", files, size)
        image = images / "disk.img"
        with image.open("wb") as file:
            file.truncate(files * (size + 8192) + room + (32 << 20))
        _do("mkfs.ext4", "-q", "-F", "-N", str(files + 64), "-d", str(content), str(image))
        shutil.rmtree(content)
        device = self._serve([str(images), str(self._folder("hidden")), "--disk", "disk.img"], pace)
        point = self._folder("disk")
        mount(device, str(point), "ext4", 0, "")
        return point / "data"

    def shared_memory(self, size: int) -> None:
        """Another /dev/shm of this size."""
        _need_root()
        mount("tmpfs", "/dev/shm", "tmpfs", 0, f"size={size}")

    def cgroup(self, controller: str, values: Mapping[str, str]) -> Path:
        """A v1 control group with these settings; its `cgroup.procs` takes processes."""
        folder = CGROUPS / controller / self.name
        if os.geteuid() or not (CGROUPS / controller / "cgroup.procs").exists():
            raise NotHereError(f"no v1 cgroup controller `{controller}` that can be written")
        folder.mkdir(exist_ok=True)
        for file, value in values.items():
            (folder / file).write_text(value)
        return folder

    def device_number(self, path: Path) -> str:
        """MAJOR:MINOR of the block device under a path."""
        number = path.stat().st_dev
        return f"{os.major(number)}:{os.minor(number)}"

    def object_store(self, pause_ms: float) -> str:
        """HOST:PORT of an object store on another host, as far as the network knows."""
        _need_root()
        _need_program("ip")
        short = f"iol{os.getpid() % 100000}"
        try:
            _do("ip", "netns", "add", self.name)
            _do("ip", "link", "add", f"{short}a", "type", "veth", "peer", "name", f"{short}b", "netns", self.name)
            _do("ip", "addr", "add", "10.213.7.1/24", "dev", f"{short}a")
            _do("ip", "link", "set", f"{short}a", "up")
            _do("ip", "-n", self.name, "addr", "add", "10.213.7.2/24", "dev", f"{short}b")
            _do("ip", "-n", self.name, "link", "set", f"{short}b", "up")
        except subprocess.CalledProcessError as error:
            raise NotHereError(f"no network namespaces: {error.stderr.strip()}") from error
        server = [sys.executable, "-m", "tests.lab.objects", "8099", str(pause_ms)]
        self.start(["ip", "netns", "exec", self.name, *server], until="ready")
        return "10.213.7.2:8099"

    def train(
        self,
        run: Run,
        *,
        groups: Sequence[Path] = (),
        cpus: str = "",
        before: Sequence[str] = (),
        gpu: bool = True,
    ) -> subprocess.Popen[str]:
        """Starts a trainer, in control groups or on some CPUs where that is said."""
        options = arguments(run) if run.busy or not gpu else [*arguments(run), "--busy", str(self.busy)]
        command = [*before, sys.executable, "-m", "tests.lab.trainer", *options]
        process = self.load(command, groups=groups, cpus=cpus)
        self.watched.append(process.pid)
        return process

    def load(self, command: Sequence[str], *, groups: Sequence[Path] = (), cpus: str = "") -> subprocess.Popen[str]:
        """Starts any program beside or as the job."""
        if cpus:
            _need_program("taskset")
            command = ["taskset", "--cpu-list", cpus, *command]
        if groups:
            joins = "; ".join(f"echo $$ > {group}/cgroup.procs" for group in groups)
            command = ["sh", "-c", f'{joins}; exec "$@"', "sh", *command]
        return self.start(command)

    def start(self, command: Sequence[str], until: str = "") -> subprocess.Popen[str]:
        """Starts a program, and waits for a first line that begins with `until`."""
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE if until else subprocess.DEVNULL,
            text=True,
        )
        self.started.append(process)
        if until and process.stdout is not None:
            line = process.stdout.readline()
            if not line.startswith(until):
                raise RuntimeError(f"{command} said {line!r}")
        return process

    def start_watching(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Starts iodash beside the loads; its standard output is piped."""
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **self.environment}, stdout=subprocess.PIPE, text=True
        )
        self.started.append(process)
        return process

    def stall(self) -> None:
        """The slow disk or mount stops answering, until the ground is closed."""
        for server in self._servers:
            server.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        """Ends what was started, the newest first."""
        for server in self._servers:
            server.send_signal(signal.SIGCONT)
        _end(self.started)
        _end(self._servers)

    def _serve(self, command: list[str], pace: Mapping[str, float]) -> str:
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            raise NotHereError("no /dev/fuse")
        for name, value in pace.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.slow_fuse", *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        self._servers.append(server)
        line = server.stdout.readline().strip() if server.stdout is not None else ""
        if not line:
            raise NotHereError("the slow FUSE file system can't be mounted here")
        return line

    def _folder(self, name: str) -> Path:
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        return folder


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.terminate()
    for process in reversed(processes):
        try:
            process.wait(4)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def clear(name: str, directory: Path) -> None:
    """Removes all that a ground of this name left, whether or not its process ended well."""
    for controller in CGROUPS.iterdir() if CGROUPS.is_dir() else ():
        group = controller / name
        if not group.is_dir():
            continue
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)
    if (Path("/run/netns") / name).exists():
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    if losetup := shutil.which("losetup"):
        listed = subprocess.run(
            [losetup, "--noheadings", "--list", "-O", "NAME,BACK-FILE"], capture_output=True, text=True
        )
        for line in listed.stdout.splitlines():
            device, _, file = line.partition(" ")
            if str(directory) in file:
                subprocess.run([losetup, "--detach", device], check=False, capture_output=True)
    shutil.rmtree(directory, ignore_errors=True)


def make_directory() -> Path:
    """A directory for a ground, on a disk rather than in memory."""
    return Path(tempfile.mkdtemp(prefix="iodash-lab-", dir="/var/tmp"))


def _need_root() -> None:
    if os.geteuid():
        raise NotHereError("only root may mount")


def _need_program(*names: str) -> None:
    for name in names:
        if shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            raise NotHereError(f"the program {name} is not installed")


def _do(*command: str) -> None:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "PATH": path})
