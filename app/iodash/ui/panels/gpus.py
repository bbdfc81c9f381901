"""The GPUs: one line each, as many beside each other as it takes, or a sentence that says why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iodash.ui.looks import look
from iodash.ui.panels.gpu_lines import absence_lines, driver_lines, gpu_lines
from iodash.ui.panels.lines import Line, Lines
from iodash.ui.widgets.rule import rule_strip

if TYPE_CHECKING:
    from textual.strip import Strip

    from iodash.model.frame import Frame

_MOST_LINES = 8
"""How many GPUs the panel wants beneath each other. With more than that, several share a line."""

_MOST_WORDS = 2
"""Lines for why there is no GPU."""

_BENEATH = 2
"""Lines for what the disks did."""


def rule_info(frame: Frame) -> str:
    """What stands in the panel's rule: the driver's version, and its trouble where GPUs are shown all the same."""
    driver = frame.gpu_driver
    words = [f"driver {driver.version}"] if driver.version else []
    if driver.status != "ok" and driver.message:
        words.append(driver.message)
    return "  ".join(words)


class GpuPanel(Lines):
    """The GPUs under a rule. Without a GPU there is no rule, and a sentence that says why and what to do."""

    key: ClassVar[str] = "gpus"
    title: ClassVar[str] = "GPU"
    can_focus = True

    def lines(self, width: int, height: int | None) -> list[Line]:
        """The rule's words, then a line a GPU, or fewer where there is no room for that."""
        if self._shown is None:
            return [[(" GPU", "title"), ("  collecting", "quiet")]]
        frame, view = self._shown
        inner = width - 2
        if not frame.gpus:
            if view.full == self.key:
                words = absence_lines(frame, inner)
            else:
                words = driver_lines(frame, inner, height or _MOST_WORDS, ascii=view.ascii)
            return [[(" ", ""), *line] for line in words]
        most = None if view.full == self.key else self._most(frame) if height is None else max(1, height - 1)
        lines = gpu_lines(frame, view, inner, most)
        return [[(rule_info(frame), "rule")], *([(" ", ""), *line] for line in lines)]

    @staticmethod
    def _most(frame: Frame) -> int:
        return min(len(frame.gpus), _MOST_LINES) + _BENEATH

    def render_line(self, y: int) -> Strip:
        """The rule, or a line beneath it."""
        if y or self._shown is None or not self._shown[0].gpus:
            return super().render_line(y)
        frame, view = self._shown
        return rule_strip(
            self.title,
            rule_info(frame),
            self.size.width,
            title_style=look(self, "focused" if self.has_focus else "title"),
            line_style=look(self, "rule"),
            info_style=look(self, "quiet"),
            ascii=view.ascii,
        )

    def series(self, frame: Frame) -> list[tuple[str, str, str]]:
        """Utilisation of every GPU, then memory, PCIe and power."""
        return [
            (gpu.uuid, name, unit)
            for name, unit in (
                ("util_percent", "%"),
                ("memory_used_bytes", "B"),
                ("pcie_receive_bytes_per_s", "B/s"),
                ("power_watts", "W"),
            )
            for gpu in frame.gpus
        ]
