"""An event loop whose clock jumps instead of waiting: minutes of cadence in milliseconds, exact to the last digit."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(20)
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not ready:
            self.now += timeout
        return ready


class VirtualTime:
    """The clock. Threads may move it on, as a slow reading does; the loop moves it when it has nothing else to do."""

    def __init__(self) -> None:
        self._selector = _Selector()

    def __call__(self) -> float:
        return self._selector.now

    def advance(self, seconds: float) -> None:
        self._selector.now += seconds

    def run(self, main: Callable[[], Coroutine[object, object, T]]) -> T:
        loop = asyncio.SelectorEventLoop(self._selector)
        loop.time = self  # type: ignore[method-assign]
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(main())
