"""Who trains: processes become jobs, by the GPUs they are on, by tree, names and command lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iodash.diagnosis.activity import BUSY_BYTES_PER_S
from iodash.diagnosis.busy_trees import BusyTrees
from iodash.diagnosis.tree import LAUNCHERS, Tree, bytes_moved, is_told_of_others
from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.members import MemberFacts
    from iodash.model.sample import ProcessKey

_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "fish", "tmux: server", "screen", "sshd", "systemd", "init", "tini"})
_WORKER_NAME = "pt_data_worker"
_MAIN_NAME = "pt_main_thread"
_FORK_SERVER = "multiprocessing.forkserver"
_SPAWNED = ("multiprocessing.spawn", _FORK_SERVER, "multiprocessing-fork")
_TRACKER = "resource_tracker"


@dataclass(frozen=True, slots=True)
class Rank:
    """A main process of a job with its loader workers, in the order of their start."""

    row: ProcessRow
    workers: tuple[ProcessRow, ...]
    number: int | None


@dataclass(frozen=True, slots=True)
class Job:
    """A training job. `root` is the topmost process that belongs to it.

    `workers` are the loader workers of all ranks, `rows` every process of the job, once; `gpus` the indexes of the GPUs
    that they are on. They follow from the rest and are kept, since every rule asks for them.
    """

    root: int
    label: str
    ranks: tuple[Rank, ...]
    others: tuple[ProcessRow, ...] = field(default=())
    workers: tuple[ProcessRow, ...] = field(init=False, compare=False)
    rows: tuple[ProcessRow, ...] = field(init=False, compare=False)
    gpus: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        workers = tuple(worker for rank in self.ranks for worker in rank.workers)
        rows = tuple(rank.row for rank in self.ranks) + workers + self.others
        gpus = {index for row in rows if not isinstance(row.gpus, Missing) for index in row.gpus}
        object.__setattr__(self, "workers", workers)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "gpus", tuple(sorted(gpus)))

    @property
    def name(self) -> str:
        """Label and root pid: `train.py:4120`."""
        return f"{self.label}:{self.root}"


def script_label(row: ProcessRow) -> str:
    """What people call a process: its script or module, `train.py` rather than `python3`; else its name."""
    words = row.command.split(" ")
    for index, word in enumerate(words[1:], 1):
        if word == "-m" and index + 1 < len(words) and "python" in words[0]:
            return words[index + 1]
        if word == "-c":
            break
        if word.endswith(".py"):
            return word.rsplit("/", 1)[-1]
    program = words[0].rsplit("/", 1)[-1]
    return program or row.name


def _is_fork_server(row: ProcessRow, parent: ProcessRow | None) -> bool:
    """Whether a process only makes workers by forking itself: it and they have the same command line."""
    return _FORK_SERVER in row.command and (parent is None or _FORK_SERVER not in parent.command)


def is_worker_of(row: ProcessRow, rank: ProcessRow) -> bool:
    """Whether a descendant of a rank loads data for it: by PyTorch's name, or a fork or spawn of the same program."""
    if row.name.startswith(_WORKER_NAME):
        return True
    if _TRACKER in row.command or row.name.startswith(_MAIN_NAME):
        return False
    return any(word in row.command for word in _SPAWNED) or (row.command == rank.command != "")


def find_jobs(
    frame: Frame,
    facts: Mapping[ProcessKey, MemberFacts],
    pinned: frozenset[int] = frozenset(),
    busy: BusyTrees | None = None,
) -> tuple[Job, ...]:
    """The jobs of a frame, in the order of their root pids.

    With `pinned` pids only their trees are jobs; a kernel thread is none. Else a job is what is on a GPU; where no
    driver answers, what bears PyTorch's names, or at last the Python programs that move the most bytes: which of them
    did before is in `busy`.
    """
    busy = BusyTrees() if busy is None else busy
    if not pinned and not busy.any and not _somebody_may_train(frame):
        return ()
    tree = Tree(frame.processes)
    mains = _pinned_mains(tree, pinned) if pinned else [(row, row) for row in _mains(frame, tree, facts, busy)]
    grouped: dict[int, list[ProcessRow]] = {}
    for row, top in mains:
        root = top.key.pid if pinned else _root(tree, row, facts)
        grouped.setdefault(root, []).append(row)
    return tuple(_job(tree, root, rows, facts) for root, rows in sorted(grouped.items()))


def _pinned_mains(tree: Tree, pinned: frozenset[int]) -> list[tuple[ProcessRow, ProcessRow]]:
    mains: list[tuple[ProcessRow, ProcessRow]] = []
    for pid in sorted(pinned):
        top = tree.rows.get(pid)
        if top is None or top.kernel_thread:
            continue
        family = [top, *tree.descendants(top)]
        on_gpu = _outermost(tree, [row for row in family if _on_gpu(row)])
        named = _outermost(tree, [row for row in family if row.name.startswith(_MAIN_NAME)])
        programs = [row for row in family if row.name not in _SHELLS and not LAUNCHERS.search(row.command)]
        mains.extend((row, top) for row in on_gpu or named or programs[:1] or [top])
    return mains


def _mains(frame: Frame, tree: Tree, facts: Mapping[ProcessKey, MemberFacts], busy: BusyTrees) -> list[ProcessRow]:
    on_gpu = [row for row in tree.rows.values() if row.gpus and _on_gpu(row)]
    if on_gpu:
        return _outermost(tree, on_gpu)
    if frame.gpus and frame.gpu_driver.status == "ok":
        return []
    named = [row for row in tree.rows.values() if row.name.startswith(_MAIN_NAME)]
    if not named:
        workers = [row for row in tree.rows.values() if row.name.startswith(_WORKER_NAME)]
        parents = {parent.key.pid: parent for row in workers if (parent := tree.parent(row)) is not None}
        named = list(parents.values())
    return _outermost(tree, named) or busy.find(tree, facts, frame.interval_s)


def _somebody_may_train(frame: Frame) -> bool:
    """A look at each process that costs next to nothing, so that a machine without training pays no more than that."""
    if frame.gpus and frame.gpu_driver.status == "ok":
        return any(row.gpus and _on_gpu(row) for row in frame.processes)
    return any(row.name.startswith("pt_") for row in frame.processes) or (
        sum(bytes_moved(row) for row in frame.processes) >= BUSY_BYTES_PER_S
    )


def _on_gpu(row: ProcessRow) -> bool:
    return not isinstance(row.gpus, Missing) and bool(row.gpus)


def _outermost(tree: Tree, rows: list[ProcessRow]) -> list[ProcessRow]:
    """Rows with no ancestor among them: a worker that inherited a GPU handle is no rank of its own.

    A rank that was spawned by another process on a GPU stays: it is on a GPU that its ancestor is not on.
    """
    chosen = {row.key.pid: row for row in rows}
    kept = []
    for row in rows:
        above = [chosen[a.key.pid] for a in tree.ancestors(row) if a.key.pid in chosen]
        own = set() if isinstance(row.gpus, Missing) else set(row.gpus)
        held = {index for a in above if not isinstance(a.gpus, Missing) for index in a.gpus}
        if not above or (own - held and not row.name.startswith(_WORKER_NAME)):
            kept.append(row)
    return kept


def _root(tree: Tree, rank: ProcessRow, facts: Mapping[ProcessKey, MemberFacts]) -> int:
    """The pid of the topmost process that belongs to the job: launchers, and parents that run the same script.

    A parent is a launcher by its name, or when it started a rank that was told how many there are (WORLD_SIZE).
    """
    top = rank
    told = is_told_of_others(rank, facts)
    for above in tree.ancestors(rank):
        launcher = bool(LAUNCHERS.search(above.command)) or above.name in ("slurmstepd", "orted")
        launcher = launcher or (told and top is rank and above.name not in _SHELLS)
        same_program = above.name not in _SHELLS and above.command != "" and above.command == rank.command
        spawner = any(word in rank.command for word in _SPAWNED) and above.name not in _SHELLS
        if not (launcher or same_program or spawner):
            break
        top = above
    return top.key.pid


def _job(tree: Tree, root: int, rows: list[ProcessRow], facts: Mapping[ProcessKey, MemberFacts]) -> Job:
    rank_pids = {row.key.pid for row in rows}
    ranks: list[Rank] = []
    taken = set(rank_pids)
    several = len(rows) > 1
    ordered = sorted(rows, key=lambda row: (_rank_number(row, facts, 1 << 30), _first_gpu(row), row.key.pid))
    for place, row in enumerate(ordered):
        workers = []
        for member in tree.descendants(row):
            if member.key.pid in taken:
                continue
            if is_worker_of(member, row) and not _is_fork_server(member, tree.parent(member)):
                taken.add(member.key.pid)
                workers.append(member)
        workers.sort(key=lambda member: (member.start_time, member.key.pid))
        number = _rank_number(row, facts, place if several else -1)
        ranks.append(Rank(row, tuple(workers), None if number < 0 else number))
    top = tree.rows.get(root)
    family = [] if top is None else [top, *tree.descendants(top)]
    others = tuple(row for row in family if row.key.pid not in taken)
    return Job(root, script_label(ordered[0]), tuple(ranks), others)


def _first_gpu(row: ProcessRow) -> int:
    return min(row.gpus, default=1 << 30) if not isinstance(row.gpus, Missing) else 1 << 30


def _rank_number(row: ProcessRow, facts: Mapping[ProcessKey, MemberFacts], fallback: int) -> int:
    known = facts.get(row.key)
    text = known.environment.get("RANK", "") if known is not None else ""
    return int(text) if text.isdecimal() and len(text) < 7 else fallback


def is_python(row: ProcessRow) -> bool:
    """Whether a process is a Python program, by the program that it runs."""
    return "python" in row.command.split(" ", 1)[0].rsplit("/", 1)[-1] or row.name.startswith(_MAIN_NAME)


def role_of(rank: Rank, label: str) -> str:
    """What stands behind a rank's name: `train.py rank 0, 8 workers`."""
    count = len(rank.workers)
    loaders = "no loader workers" if count == 0 else "1 worker" if count == 1 else f"{count} workers"
    return f"{label}, {loaders}" if rank.number is None else f"{label} rank {rank.number}, {loaders}"
