"""Which processes are on which GPUs: the lists of the GPUs turned round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.model.missing import Count, Missing, Number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iodash.model.frame import GpuRow
    from iodash.model.sample import GpuDriver

_WHY_NO_LIST = {
    "starting": Missing.STARTING,
    "off": Missing.OFF,
    "not_answering": Missing.NOT_MEASURED,
}


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What one process does on the GPUs: indexes, bytes of GPU memory, percent of GPU time (100 is one GPU)."""

    gpus: tuple[int, ...] | Missing
    memory_bytes: Count
    sm_percent: Number
    guessed: bool = False


ON_NO_GPU = GpuUse((), 0, 0.0)


def gpu_uses(driver: GpuDriver, gpus: Iterable[GpuRow]) -> tuple[dict[int, GpuUse], GpuUse]:
    """The use of each visible process that is on a GPU, and that of all others.

    The others are on no GPU only where every list is known; else their use is missing too.
    """
    uses: dict[int, GpuUse] = {}
    others = ON_NO_GPU
    seen = False
    for gpu in gpus:
        seen = True
        if isinstance(gpu.processes, Missing):
            others = GpuUse(gpu.processes, gpu.processes, gpu.processes)
            continue
        for process in gpu.processes:
            if process.visible:
                use = uses.get(process.pid, ON_NO_GPU)
                held = () if isinstance(use.gpus, Missing) else use.gpus
                uses[process.pid] = GpuUse(
                    held if gpu.index in held else tuple(sorted((*held, gpu.index))),
                    use.memory_bytes + process.memory_bytes,
                    use.sm_percent + process.sm_percent,
                    use.guessed or process.guess,
                )
    if not seen and driver.status != "ok":
        why = _WHY_NO_LIST.get(driver.status, Missing.NO_DRIVER)
        others = GpuUse(why, why, why)
    return uses, others
