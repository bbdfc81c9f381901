"""What this host hides from iodash, told from a frame, and the exact remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.sight import unreadable
from iodash.formatting.units import bytes_in_words
from iodash.model.checkup import HostCheck
from iodash.model.missing import Missing, known
from iodash.model.remedies import SYS_HIDDEN, see_hidden_processes, see_into_others

if TYPE_CHECKING:
    from iodash.model.frame import Frame

_SMALL_SHARED_MEMORY = 1 << 30


def check_host(frame: Frame) -> tuple[HostCheck, ...]:
    """Every check, those that pass too, in the order in which they matter for a verdict."""
    checks = (
        _gpu_driver(frame),
        _gpu_processes(frame),
        _process_io(frame),
        _in_sight(frame),
        _waits(frame),
        _delay_accounting(frame),
        _pressure(frame),
        _devices(frame),
        _shared_memory(frame),
    )
    return tuple(check for check in checks if check is not None)


def _gpu_driver(frame: Frame) -> HostCheck:
    driver = frame.gpu_driver
    if driver.status == "ok":
        version = f", driver {driver.version}" if driver.version else ""
        instances = sum(gpu.instance is not None for gpu in frame.gpus)
        divided = f", {instances} MIG instance{'s' * (instances > 1)}" if instances else ""
        return HostCheck("GPUs", f"ok, {frame.gpu_count} seen{divided}{version}")
    remedies = {
        "no_library": "install the NVIDIA driver",
        "not_loaded": "load the NVIDIA kernel module (modprobe nvidia) or look at dmesg why it does not load",
        "version_mismatch": "the driver was upgraded: reboot, or unload and reload its kernel module",
        "not_answering": "the driver hangs: look at dmesg for Xid errors; a reset or reboot may be needed",
        "off": "leave out --no-gpu",
        "starting": "wait a little longer (--for)",
        "error": "try nvidia-smi on the host and in the container",
    }
    status, remedy = driver.status.replace("_", " "), remedies[driver.status]
    message = driver.message
    if driver.status == "no_library" and ": " in message:  # the sentence ends with what to do
        message, remedy = message.split(": ", 1)
    return HostCheck("GPUs", f"{status}: {message}" if message else status, remedy)


def _gpu_processes(frame: Frame) -> HostCheck | None:
    notes = sorted({gpu.processes_note for gpu in frame.gpus if gpu.processes_note and gpu.mig != "enabled"})
    hidden = any(isinstance(gpu.processes, Missing) for gpu in frame.gpus)
    if not frame.gpus:
        return None
    if not notes and not hidden:
        return HostCheck("processes on GPUs", "ok")
    return HostCheck("processes on GPUs", "; ".join(notes) or "hidden", "in a container: --pid=host")


def _process_io(frame: Frame) -> HostCheck:
    hidden, count = unreadable(frame)
    if not hidden:
        return HostCheck("I/O of processes", "ok")
    return HostCheck("I/O of processes", f"no permission for {hidden} of {count} programs", see_into_others(frame.host))


def _in_sight(frame: Frame) -> HostCheck:
    what, host = "processes of the whole host", frame.host
    if host.hidepid:
        status = f"those of other users are hidden (hidepid={host.hidepid})"
        return HostCheck(what, status, see_hidden_processes(host))
    if host.pid_namespace:
        return HostCheck(what, "only those of this container are in sight", "docker run --pid=host")
    return HostCheck(what, "ok")


def _waits(frame: Frame) -> HostCheck | None:
    members = frame.readings.members.values()
    if not members:
        return None
    if any(member.waits_readable for member in members):
        return HostCheck("what the job waits for (wchan)", "ok")
    remedy = see_into_others(frame.host)
    return HostCheck("what the job waits for (wchan)", "not readable", f"run as the job's user; else {remedy}")


def _delay_accounting(frame: Frame) -> HostCheck:
    what = "I/O delay of processes"
    if frame.host.delay_accounting:
        return HostCheck(what, "ok, for processes started since it is on")
    remedy = "on the host: sysctl kernel.task_delayacct=1 (or boot with delayacct), then start the job again"
    return HostCheck(what, "off" if frame.host.delay_accounting is False else "unknown", remedy)


def _pressure(frame: Frame) -> HostCheck:
    value = frame.system.pressure_io_some_percent
    if not isinstance(value, Missing):
        return HostCheck("pressure (PSI)", "ok")
    return HostCheck(
        "pressure (PSI)", value.words, "boot with psi=1 on a kernel with CONFIG_PSI; mount the host's /proc"
    )


def _devices(frame: Frame) -> HostCheck:
    disks = [device for device in frame.devices if device.total]
    if frame.host.sysfs_hidden:
        remedy = "mount the host's /sys and name it with --sysfs"
        return HostCheck("block devices", f"{len(disks)} that are disks by their names: {SYS_HIDDEN}", remedy)
    if disks:
        return HostCheck("block devices", f"ok, {len(disks)} physical")
    return HostCheck("block devices", "none in sight", "mount the host's /proc and /sys (--procfs, --sysfs)")


def _shared_memory(frame: Frame) -> HostCheck | None:
    size, used = known(frame.system.shared_memory_total_bytes), known(frame.system.shared_memory_used_bytes)
    for facts in frame.readings.facts.values():
        if (own := known(facts.shared_memory_total_bytes)) is not None:
            size, used = own, known(facts.shared_memory_used_bytes)
            break
    if size is None:
        return None
    if size >= _SMALL_SHARED_MEMORY and (used or 0) < 0.8 * size:
        return HostCheck("/dev/shm", f"ok, {bytes_in_words(used or 0)} of {bytes_in_words(size)} used")
    status = f"{bytes_in_words(used or 0)} of {bytes_in_words(size)} used"
    return HostCheck("/dev/shm", status, "docker run --shm-size=16g (or --ipc=host)")
