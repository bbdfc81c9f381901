"""Verdicts: the rules' findings for each job become one line that doesn't flap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iodash.diagnosis.causes import NO_BLAME
from iodash.diagnosis.finding import LEVELS, Finding
from iodash.diagnosis.jobs import is_python
from iodash.diagnosis.rules import RULES
from iodash.diagnosis.rules.waits import MIB, WAITING, idle_words, per_second
from iodash.diagnosis.sight import why_unseen
from iodash.formatting.units import percent
from iodash.model.frame import Evidence, Verdict
from iodash.model.missing import known

if TYPE_CHECKING:
    from iodash.diagnosis.jobs import Rank
    from iodash.diagnosis.scene import Scene
    from iodash.model.frame import Confidence, Frame

WARM_UP_S = 6.0
"""Until so much has been seen of a job, confidence is low."""

CONFIRMATIONS = 2
"""How many frames in a row must agree before another cause takes the line."""

_MOST_EVIDENCE = 4
_AT_REST = 5.0


def judge(scene: Scene) -> Verdict:
    """The verdict on one scene: the deepest cause that two signals support, else the best supported one."""
    findings = [finding for rule in RULES if (finding := rule(scene)) is not None and finding.supporting]
    well = [finding for finding in findings if finding.confidence != "low"]
    if well:
        best = _deepest(well)
    elif findings:
        best = max(findings, key=lambda finding: finding.weight)
    else:
        best = _unknown(scene)
    if scene.late is not None and best.cause not in NO_BLAME:
        _name_late_rank(best, scene.late)
    evidence = (best.supporting + best.context + best.opposing)[:_MOST_EVIDENCE]
    return Verdict(
        cause=best.cause,
        confidence=_confidence(best, scene),
        summary=best.summary,
        evidence=tuple(evidence),
        advice=best.advice,
        window_s=round(scene.window_s, 1),
        job=scene.job.name,
        devices=best.devices,
        processes=best.processes,
    )


def _name_late_rank(finding: Finding, late: Rank) -> None:
    """A verdict on the rank that the others wait for says so."""
    who = "one process" if late.number is None else f"rank {late.number}"
    finding.summary = f"the others wait for {who} (PID {late.row.key.pid}): {finding.summary}"
    finding.processes = (late.row.key, *finding.processes)


def _deepest(findings: list[Finding]) -> Finding:
    """The first in the order of the rules; a later one takes over only when the first is contradicted and it is not."""
    for finding in findings:
        if not finding.opposing:
            return finding
    return max(findings, key=lambda finding: finding.weight)


def _confidence(finding: Finding, scene: Scene) -> Confidence:
    level = finding.confidence
    if scene.window_s < WARM_UP_S:
        return "low"
    if not scene.has_gpu and level == "high":
        return "medium"
    return level


def _unknown(scene: Scene) -> Finding:
    """What is missing for a verdict, rather than a guess."""
    finding = Finding("unknown")
    missing: list[str] = []
    looks = sum(moment.ranks.looks + moment.workers.looks for moment in scene.moments)
    if scene.window_s < WARM_UP_S:
        missing.append("the job has only been watched for a few seconds")
    elif not looks:
        missing.append("its threads can't be watched")
    if scene.mean(lambda moment: moment.read) is None:
        missing.append("its I/O can't be read (run as its user, as root, or with CAP_SYS_PTRACE)")
    missing += _doings(scene)
    reason = "; ".join(missing) if missing else "no signal stands out"
    finding.summary = f"cannot tell: {reason}; {idle_words(scene)}"
    pid = scene.job.ranks[0].row.key.pid
    finding.advice = f"py-spy dump --pid {pid} shows where the main process is"
    if not all(is_python(rank.row) for rank in scene.job.ranks):
        finding.advice = f"gdb -p {pid} or strace -p {pid} shows where the main process is"
    _look_at_states(finding, scene)
    if scene.idle is not None:
        finding.supporting.append(Evidence("idle_percent", scene.idle, "%", 5.0, idle_words(scene)))
    return finding


def _look_at_states(finding: Finding, scene: Scene) -> None:
    """A main process that is dead, or a member that somebody stopped, explains everything."""
    for rank in scene.job.ranks:
        if rank.row.state == "Z":
            pid = rank.row.key.pid
            finding.summary = f"the main process ({pid}) has ended and is only kept until its parent asks (a zombie)"
            finding.advice = "look into its log for why it ended, and end what started it"
            finding.processes = (rank.row.key,)
            return
    for row in scene.rows:
        if row.state in ("T", "t"):
            finding.summary = (
                f"{row.name} ({row.key.pid}) of this job is stopped (state {row.state}); {idle_words(scene)}"
            )
            finding.advice = f"kill -CONT {row.key.pid} lets it go on, unless a debugger holds it"
            finding.processes = (row.key,)
            return


def _doings(scene: Scene) -> list[str]:
    """What the job is seen to do, or not to do, as far as that is worth a word."""
    main, blocked = scene.of("ranks", "main_cpu"), scene.of("ranks", "blocked") or 0.0
    whole = scene.mean(lambda moment: moment.cpu) or 0.0
    remote = scene.waiting("ranks", "fuse", "network", "socket")
    helper = max(scene.job.others, key=lambda row: known(row.read_bytes_per_s) or 0.0, default=None)
    moved = 0.0 if helper is None else known(helper.read_bytes_per_s) or 0.0
    if helper is not None and moved >= MIB:
        return [f"its helper {helper.name} ({helper.key.pid}) reads {per_second(moved)}"]
    if remote >= WAITING:
        return [f"the main process waits for a server or for other ranks {percent(remote)} % of the time"]
    if main is None or blocked >= 15:
        return []
    if scene.never_ran and whole < _AT_REST and not (scene.mean(lambda moment: moment.logical_read) or 0.0) > MIB:
        return ["nothing of this job runs: it hangs, or waits for somebody (a notebook, a debugger)"]
    if scene.never_ran and main >= 50:
        return [f"the main process computes ({percent(main)} % CPU) and uses no GPU: it starts, compiles or evaluates"]
    if main < 20:
        words = "hardly computes" if main >= _AT_REST else "neither computes"
        nor = "and does not wait for storage" if main >= _AT_REST else "nor waits for storage"
        return [f"the main process {words} ({percent(main)} % CPU) {nor}: it sleeps"]
    return []


def no_job(frame: Frame, pinned: frozenset[int] = frozenset(), out_of_sight: float = 0.0) -> Verdict:
    """The verdict while nobody trains, as far as can be seen. `pinned` are the processes that alone were asked for.

    `out_of_sight` is what processes that are not listed move, in bytes a second.
    """
    if frame.short_of_files or not frame.processes:
        reason = "too few files may be open" if frame.short_of_files else "no process is in sight"
        advice = "iodash doctor says what is hidden and how to show it"
        return Verdict("unknown", "low", f"cannot tell: {reason}", (), advice, frame.interval_s)
    if pinned:
        kernel = sorted(row.key.pid for row in frame.processes if row.kernel_thread and row.key.pid in pinned)
        gone = sorted(pinned.difference(kernel))
        reasons = [f"no process has PID {', '.join(map(str, gone))}, or it has ended"] if gone else []
        reasons += [f"a kernel thread trains nothing (PID {', '.join(map(str, kernel))})"] if kernel else []
        summary = "; ".join(reasons)
        return Verdict("no_gpu_work", "high", summary, (), "give the PID of a program that runs", frame.interval_s)
    if frame.gpus and frame.gpu_driver.status == "ok":
        count = frame.gpu_count
        summary = f"no process uses {'the GPU' if count == 1 else f'any of the {count} GPUs'}"
        advice = "start the job; in a container, --pid=host shows the processes of others"
        return Verdict("no_gpu_work", "high", summary, (), advice, frame.interval_s)
    unseen = why_unseen(frame, out_of_sight)
    if unseen is not None:
        reason, advice = unseen
        return Verdict("unknown", "low", f"cannot tell: {reason}", (), advice, frame.interval_s)
    summary = "no training seen, and no GPU in sight"
    advice = "name the job with -p PID to have it judged by its own waits"
    return Verdict("no_gpu_work", "low", summary, (), advice, frame.interval_s)


@dataclass(slots=True)
class Line:
    """The verdict that stands for one job. Another cause must be seen twice in a row before it takes the line."""

    shown: Verdict | None = None
    rival: str | None = None
    seen: int = 0

    def take(self, verdict: Verdict) -> Verdict:
        """Takes a new judgement and returns the one that stands."""
        if (
            self.shown is None
            or verdict.cause == self.shown.cause
            or self.shown.confidence == "low" == verdict.confidence
        ):
            self.shown, self.rival, self.seen = verdict, None, 0
            return verdict
        self.seen = self.seen + 1 if verdict.cause == self.rival else 1
        self.rival = verdict.cause
        needed = CONFIRMATIONS if verdict.confidence != "low" else 2 * CONFIRMATIONS
        if self.seen >= needed:
            self.shown, self.rival, self.seen = verdict, None, 0
        else:
            self.shown = replace(self.shown, window_s=verdict.window_s)
        return self.shown


def worst(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The verdict for the header: one that blames before one that doesn't, the surer first."""

    def weight(verdict: Verdict) -> tuple[int, int]:
        blame = 2 if verdict.cause not in NO_BLAME else 1 if verdict.cause == "unknown" else 0
        return blame, LEVELS.index(verdict.confidence)

    return max(verdicts, key=weight, default=None)
