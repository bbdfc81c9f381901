"""Causes on the GPU's own side: heat, residency without work, copies, launching; and that all is well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.rules.waits import MIB, group_words, idle_loaders, idle_words, per_second, starved
from iodash.formatting.units import percent
from iodash.model.kinds import HARD_THROTTLES

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene

FED = 95.0
"""Mean utilisation from which nothing holds the GPUs back."""

NEARLY_FED = 90.0
"""The same with little confidence."""

BOUND = 80.0
"""CPU use of a thread from which nothing but its CPU holds it up."""

COPYING = 60.0
"""Share of the PCIe link from which it is full whatever else is known; about 85 % of it can be used."""

LOW_POWER = 50.0
"""Share of the power limit below which a busy GPU hardly works."""

NEXT_TO_IDLE_POWER = 25.0
"""Share of the power limit below which a GPU draws little more than at rest: no load that feeds it does that."""

LOW_ACTIVITY = 50.0
"""SM activity below this is ineffective by the DCGM user guide."""


def gpu_throttled(scene: Scene) -> Finding | None:
    """Heat or power holds the clocks down: the driver says so in most of the window."""
    share = scene.mean(lambda moment: moment.hard_throttled)
    if share is None or share < 30:
        return None
    words = sorted({word for moment in scene.moments for word in moment.throttle_words if word in HARD_THROTTLES})
    finding = Finding("gpu_throttled")
    reasons = " and ".join(word.replace("_", " ") for word in words)
    finding.support(
        "throttle_percent", share, "%", 30, f"clocks are held down ({reasons}) {percent(share)} % of the time"
    )
    temperature = scene.mean(lambda moment: moment.temperature)
    power = scene.mean(lambda moment: moment.power_share)
    busy = 100 - (scene.idle or 0)
    if temperature is not None and temperature >= 80:
        finding.support("temperature_celsius", temperature, "C", 80, f"it is at {temperature:.0f} C")
    elif busy >= 80:
        finding.support(
            "util_percent", busy, "%", 80, f"it is busy {percent(busy)} % of the time, so it is not short of data"
        )
    if busy < 50:
        finding.oppose("util_percent", busy, "%", 50, f"it is busy only {percent(busy)} % of the time")
    if power is not None:
        finding.inform("power_percent", power, "%", f"power is at {percent(power)} % of its limit")
    finding.summary = f"heat or power holds the GPU's clocks down ({reasons}), not data"
    finding.advice = "check fans, airflow and the power limit of this machine (nvidia-smi -q -d PERFORMANCE)"
    return finding


def gpu_resident_idle(scene: Scene) -> Finding | None:
    """A kernel is always there but hardly works, as when a rank waits for another in a collective."""
    idle = scene.idle
    if idle is None or idle > 10:
        return None
    power = scene.mean(lambda moment: moment.power_share)
    active = scene.mean(lambda moment: moment.sm_active)
    finding = Finding("gpu_resident_idle")
    if active is not None and active < LOW_ACTIVITY:
        finding.support(
            "sm_active_percent", active, "%", LOW_ACTIVITY, f"only {percent(active)} % of its processors work"
        )
    if power is not None and power < LOW_POWER:
        finding.support("power_percent", power, "%", LOW_POWER, f"it draws only {percent(power)} % of its power limit")
    if not finding.supporting:
        return None
    gaps = scene.mean(lambda moment: moment.gap_share)
    if idle < 1 and not gaps:
        finding.support("gap_percent", 0.0, "%", 1, "not a single sample shows a gap, as between the steps of training")
    elif power is not None and power < NEXT_TO_IDLE_POWER and idle < 100 - FED and (gaps or 0.0) <= 5:
        finding.support(
            "util_percent", 100 - idle, "%", FED, "which is what it draws at rest, though a kernel is there"
        )
    if active is not None and active >= 80:
        finding.oppose("sm_active_percent", active, "%", 80, f"{percent(active)} % of its processors work")
    finding.advice = "look for tiny kernels or too small a batch, and for a rank that the others wait for"
    lowest = scene.mean(lambda moment: moment.util_lowest)
    if len(scene.job.gpus) > 1 and lowest is not None and 100 - idle - lowest > 10:
        finding.support(
            "util_lowest_percent", lowest, "%", 90, f"another GPU of the job is used only {percent(lowest)} %"
        )
    elif len(scene.job.gpus) == 1:
        finding.ceiling = "medium"
    finding.summary = f"a kernel is on the GPU {percent(100 - idle)} % of the time but hardly works"
    return finding


def gpu_fed(scene: Scene) -> Finding | None:
    """Nothing holds the GPUs back."""
    idle = scene.idle
    if idle is None or idle > 100 - NEARLY_FED:
        return None
    finding = Finding("gpu_fed")
    util = 100 - idle
    finding.support("util_percent", util, "%", FED if util >= FED else NEARLY_FED, f"utilisation is {percent(util)} %")
    if util >= FED:
        gaps = scene.mean(lambda moment: moment.gap_share) or 0.0
        finding.support("gap_percent", gaps, "%", 5, f"{percent(gaps)} % of the driver's samples show a gap")
        if gaps > 5:
            finding.oppose("gap_percent", gaps, "%", 5, "gaps are there")
    power = scene.mean(lambda moment: moment.power_share)
    if power is not None:
        finding.inform("power_percent", power, "%", f"power is at {percent(power)} % of its limit")
    finding.summary = f"{_which_gpus(scene)} fed: utilisation {percent(util)} %{_without_work(scene)}"
    finding.advice = "nothing to do"
    return finding


def _which_gpus(scene: Scene) -> str:
    """`the GPU is`, `the GPUs are`, or which of them where the job is not on all."""
    mine, all_gpus = scene.job.gpus, scene.frame.gpu_count
    if len(mine) >= all_gpus:
        return "the GPU is" if all_gpus == 1 else "the GPUs are"
    return f"GPU {mine[0]} is" if len(mine) == 1 else f"GPUs {' '.join(map(str, mine))} are"


def _without_work(scene: Scene) -> str:
    """Which GPUs nobody uses, since a job that lost a rank looks well otherwise."""
    empty = [gpu.number for gpu in scene.frame.gpus if gpu.processes == () and not gpu.util_percent]
    if not empty:
        return ""
    names = " ".join(empty)
    return f"; GPU {names} has no work" if len(empty) == 1 else f"; GPUs {names} have no work"


def gpu_copy_bound(scene: Scene) -> Finding | None:
    """Copies between host and GPU fill PCIe: all the time, or for as long as the GPU idles where it waits for each."""
    share = scene.mean(lambda moment: moment.pcie_share)
    idle = scene.idle
    least = COPYING if idle is None else min(COPYING, max(25.0, 0.6 * idle))
    if not starved(scene) or share is None or share < least:
        return None
    finding = Finding("gpu_copy_bound")
    rate = scene.mean(lambda moment: moment.pcie_receive)
    finding.support(
        "pcie_percent", share, "%", least, f"PCIe into the GPU is {percent(share)} % full ({per_second(rate)})"
    )
    main = scene.of("ranks", "main_cpu")
    if idle is not None and share >= 0.6 * idle:
        finding.support("idle_percent", idle, "%", 5, f"{idle_words(scene)}, which copying explains")
    if main is not None and main < 60:
        finding.inform("main_thread_cpu_percent", main, "%", f"the main thread uses {percent(main)} % of one CPU")
    finding.summary = f"copies to the GPU fill PCIe ({percent(share)} % of the link); {idle_words(scene)}"
    finding.advice = (
        "copy less (uint8, decode on the GPU), pin_memory=True with non_blocking=True; check the slot's width"
    )
    return finding


def host_dispatch(scene: Scene) -> Finding | None:
    """The main process launches work too slowly; no data is waited for.

    It computes all the time, or, where each step waits for the GPU, as long as the GPU idles. A thread that spins while
    it waits for the GPU computes as long as the GPU is busy, which at half and half looks the same: there only loaders
    that are ahead make it sure.
    """
    main = scene.of("ranks", "main_cpu")
    if main is None:
        main = scene.of("ranks", "cpu")
    idle = scene.idle
    if (
        scene.never_ran
        or not starved(scene)
        or main is None
        or main < (BOUND if idle is None else min(BOUND, max(10.0, 0.7 * idle)))
    ):
        return None
    finding = Finding("host_dispatch")
    text = f"the main thread uses {percent(main)} % of one CPU"
    finding.support("main_thread_cpu_percent", main, "%", BOUND if main >= BOUND else idle, text)
    ahead = idle_loaders(scene)
    if main < BOUND and (ahead is None or ahead < 50 or main < 25):
        finding.ceiling = "medium"
    read = scene.mean(lambda moment: moment.main_read)
    if read is None:
        read = scene.mean(lambda moment: moment.rank_logical_read) or 0.0
    faults = scene.mean(lambda moment: moment.major_faults) or 0.0
    if read < 0.25 * MIB and faults < 20:
        finding.support("main_read", read, "B/s", 0.25 * MIB, "it reads next to nothing itself")
    if scene.loaders != "ranks":
        busy = scene.of(scene.loaders, "cpu")
        if busy is not None and busy > 60:
            finding.oppose(
                "worker_cpu_percent",
                busy,
                "%",
                60,
                f"{group_words(scene.loaders)} are busy too ({percent(busy)} % of a CPU each)",
            )
        elif ahead is not None and ahead >= 50:
            finding.support(
                "worker_queue_wait_percent",
                ahead,
                "%",
                50,
                f"{group_words(scene.loaders)} wait for work {percent(ahead)} % of the time",
            )
        elif busy is not None and busy < 30:
            finding.inform(
                "worker_cpu_percent", busy, "%", f"{group_words(scene.loaders)} use {percent(busy)} % of a CPU each"
            )
    if idle is None:
        finding.ceiling = "low"
    finding.summary = (
        f"one core launches work too slowly ({percent(main)} % CPU in the main thread); {idle_words(scene)}"
    )
    finding.advice = (
        "fewer, larger kernels: bigger batch, torch.compile or CUDA graphs; less Python per step, fewer .item()"
    )
    if scene.loaders == "ranks":
        finding.summary = (
            f"the main thread launches work too slowly, or prepares batches itself ({percent(main)} % CPU); "
            f"{idle_words(scene)}"
        )
        finding.advice += "; DataLoader workers if it prepares batches"
    return finding
