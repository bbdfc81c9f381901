"""The GPUs wait while the job writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.rules.limits import reached_limit
from iodash.diagnosis.rules.waits import MIB, STARVED_IDLE, idle_words, per_second
from iodash.diagnosis.scene import weighted
from iodash.formatting.units import percent
from iodash.model.missing import known

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene
    from iodash.diagnosis.signals import Moment

WRITING = 8 * MIB
"""Bytes a second from which a moment counts as writing; logs and small files stay below."""

_SOME = 64.0 * 1024
_HELD = 20.0
_NEXT = 0.001
"""Seconds by which a period leaves out the moment at its beginning, so that it holds each phase once."""

_PAUSE_S = 2.5
_RECURRENCE = 1.5
_MOST_PERIOD_S = 60.0


def checkpoint_write(scene: Scene) -> Finding | None:
    """Idle time falls together with writes of the job. Asynchronous checkpoints leave the GPU busy and don't show."""
    saving = _saving(scene.settled)
    moments = _relevant(scene, saving)
    writing = tuple(moment for moment in moments if moment.time in saving)
    if not writing:
        return None
    finding = Finding("checkpoint_write")
    lost = _lost_share(moments)
    if scene.idle is not None and (lost is None or lost <= STARVED_IDLE):
        return None
    if lost and not _support_by_loss(finding, moments, writing, saving, lost):
        return None
    rate = weighted(writing, _written) or 0.0
    _weigh_by_main_process(finding, writing)
    _weigh_by_amounts(finding, writing, rate)
    if not finding.supporting:
        return None
    if scene.idle is None or lost is None:
        finding.summary = f"the job waits for what it writes ({per_second(rate)}); {idle_words(scene)}"
    else:
        finding.summary = (
            f"the GPUs wait while the job writes ({per_second(rate)}); {percent(lost)} % of the time is lost"
        )
    _advise(finding, scene, rate)
    return finding


def _lost_share(moments: tuple[Moment, ...]) -> float | None:
    """Share of the time that the GPUs did not use, in percent."""
    seconds = sum(moment.seconds for moment in moments)
    return 100 * sum(map(_lost, moments)) / seconds if seconds else None


def _support_by_loss(
    finding: Finding,
    moments: tuple[Moment, ...],
    writing: tuple[Moment, ...],
    saving: frozenset[float],
    lost: float,
) -> bool:
    """Whether the time that is lost is lost to writing: it holds the main process up as long, or falls together."""
    held = sum((_held(moment) or 0.0) * moment.seconds for moment in writing) / sum(
        moment.seconds for moment in moments
    )
    if held >= 0.6 * lost:
        words = f"writing holds the main process up {percent(held)} % of all the time"
        finding.support("held_percent", held, "%", 0.6 * lost, words)
        return True
    share = _falls_into(moments, saving)
    if share is None:
        return False
    words = f"{percent(share)} % of the idle time falls into its writes"
    finding.support("idle_while_writing_percent", share, "%", 50, words)
    return True


def _weigh_by_main_process(finding: Finding, writing: tuple[Moment, ...]) -> None:
    """Whether the main process itself waits for the writes."""
    blocked = weighted(writing, _held) or 0.0
    computing = weighted(writing, lambda moment: moment.ranks.running) or 0.0
    if blocked >= 25:
        words = f"the main process waits {percent(blocked)} % of that time itself"
        finding.support("main_blocked_percent", blocked, "%", 25, words)
    elif blocked + computing < 10 and any(moment.ranks.looks for moment in writing):
        finding.oppose("main_blocked_percent", blocked, "%", 10, "the main process does not wait for the writes")


def _weigh_by_amounts(finding: Finding, writing: tuple[Moment, ...], rate: float) -> None:
    """Whether the main process is who writes, and whether the job reads even more meanwhile."""
    by_rank = weighted(writing, lambda moment: max(moment.rank_write or 0, moment.rank_logical_write or 0)) or 0.0
    if by_rank >= 0.5 * rate:
        finding.support("write", rate, "B/s", WRITING, f"it writes {per_second(rate)} itself meanwhile")
    read = weighted(writing, lambda moment: moment.read) or 0.0
    if read > rate:
        finding.oppose("read", read, "B/s", rate, f"it reads even more meanwhile ({per_second(read)})")


def _advise(finding: Finding, scene: Scene, rate: float) -> None:
    finding.advice = (
        "save asynchronously (torch.distributed.checkpoint async_save), less often, or to a local SSD first"
    )
    if rate < MIB:
        finding.advice = (
            "it writes little and waits for it often: sync (flush, fsync) less often, or save asynchronously"
        )
    elif (limit := reached_limit(scene)) is not None and limit[0].direction == "write":
        share = 100 * limit[1] / limit[0].per_s
        finding.inform("limit_percent", share, "%", f"its writes run at {percent(share)} % of its cgroup's limit")
        finding.advice = "raise the write limit of its cgroup (io.max, blkio.throttle), or save asynchronously"


def _falls_into(moments: tuple[Moment, ...], saving: frozenset[float]) -> float | None:
    """Share of the lost time that falls into saving, in percent; None where that is no more than chance.

    What the driver says of a second can be one reading late, so that the next moment's loss is tried too.
    """
    best: float | None = None
    for late in (0, 1):
        pairs = list(zip(moments, moments[late:], strict=False))
        inside = [used for moment, used in pairs if moment.time in saving]
        outside = [used for moment, used in pairs if moment.time not in saving]
        lost_inside, lost_outside = sum(map(_lost, inside)), sum(map(_lost, outside))
        if not lost_inside:
            continue
        idle_inside = 100 * lost_inside / sum(moment.seconds for moment in inside)
        idle_outside = 100 * lost_outside / (sum(moment.seconds for moment in outside) or 1.0)
        share = 100 * lost_inside / (lost_inside + lost_outside)
        if share >= 50 and (not outside or idle_inside >= idle_outside + 15):
            best = max(best or 0.0, share)
    return best


def _saving(moments: tuple[Moment, ...]) -> frozenset[float]:
    """Times of the moments in which the job saved: it wrote, or went on waiting for what it had written to get there.

    A process counts bytes as written when it puts them into the page cache, which takes a moment; the device and the
    process that waits in fsync are busy with them for long after that.
    """
    times: list[float] = []
    saving = False
    for moment in moments:
        if _written(moment) >= WRITING or moment.ranks.waiting("writeback") >= _HELD or _is_writing_away(moment):
            saving = True
        elif saving and moment.ranks.waiting("fuse", "network") >= _HELD:
            saving = (moment.main_read or 0.0) < _SOME
        elif saving:
            flushed = max((known(row.write_bytes_per_s) or 0.0 for row in moment.devices), default=0.0)
            saving = (_held(moment) or 0.0) >= _HELD and flushed >= max(WRITING / 4, moment.rank_read or 0.0)
        if saving:
            times.append(moment.time)
    return frozenset(times)


def _is_writing_away(moment: Moment) -> bool:
    """Whether the main process waits for a file server or FUSE that takes what it writes, however little that is."""
    written = moment.rank_logical_write or 0.0
    return moment.ranks.waiting("fuse", "network") >= _HELD and written >= max(_SOME, moment.main_read or 0.0)


def _relevant(scene: Scene, saving: frozenset[float]) -> tuple[Moment, ...]:
    """What the rule is about: whole episodes of saving, and where they come back, one period of them at least.

    Without any in the window, and none due again soon, it is the window.
    """
    episodes = _episodes(scene.settled, saving)
    if not episodes or not scene.moments:
        return scene.moments
    now, since = scene.moments[-1].time, scene.moments[0].time
    last = episodes[-1]
    period = min(last.start - episodes[-2].start, _MOST_PERIOD_S) if len(episodes) > 1 else 0.0
    if now - last.end < _RECURRENCE * period:
        since = min(since, max(now - period, scene.settled[0].time) + _NEXT)
    elif last.end >= since:
        since = min(since, last.start)
    return tuple(moment for moment in scene.settled if moment.time >= since)


class _Episode(NamedTuple):
    """The times of the first and the last moment of saving."""

    start: float
    end: float


def _episodes(moments: tuple[Moment, ...], saving: frozenset[float]) -> list[_Episode]:
    """Saving that pauses for a moment only is one episode."""
    episodes: list[_Episode] = []
    for moment in moments:
        if moment.time not in saving:
            continue
        if episodes and moment.time - episodes[-1].end <= _PAUSE_S:
            episodes[-1] = _Episode(episodes[-1].start, moment.time)
        else:
            episodes.append(_Episode(moment.time, moment.time))
    return episodes


def _written(moment: Moment) -> float:
    return max(moment.write or 0.0, moment.rank_logical_write or 0.0)


def _held(moment: Moment) -> float | None:
    """How much of a moment the main process was held up by writing: in state D, or copying into the page cache."""
    if moment.ranks.blocked is None:
        return None
    return max(moment.ranks.blocked, moment.ranks.waiting("writeback", "block", "network", "fuse"))


def _lost(moment: Moment) -> float:
    return 0.0 if moment.util is None else (100 - moment.util) * moment.seconds / 100
