"""The verdict on the screen: its line, what opens from it, the rows it names, and the members of its job."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from iodash.formatting.cells import cell_width
from iodash.model.frame import Evidence, Frame, JobRow, Verdict
from iodash.model.members import JobRows, MemberRow
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver, ProcessKey
from iodash.model.settings import Settings
from iodash.ui.plots import plots_of
from iodash.ui.screens.dashboard import Dashboard
from iodash.ui.screens.details import DetailsScreen
from iodash.ui.screens.evidence import EvidenceScreen
from iodash.ui.screens.evidence_lines import amount, evidence_lines
from iodash.ui.screens.evidence_plots import axis_lines, tracks_of
from iodash.ui.screens.job_lines import family
from tests.ui.frames import GIB, MIB, NOW, device, divided_gpu, frame, gpu, process, system, view
from tests.ui.scripted import Stage, busy, stage

SIZES = [(200, 60), (120, 40), (80, 24), (60, 16)]
HOSTILE = "[/x][red]漢字e\u0301" * 12


def key(pid: int) -> ProcessKey:
    return ProcessKey(pid, pid * 10)


def job(name: str = "train.py:4120", label: str = "train.py") -> JobRow:
    return JobRow(
        name=name,
        label=label,
        ranks=(key(4120), key(4121)),
        workers=(key(4131), key(4132), key(4133)),
        others=(key(4100),),
        gpus=(0, 1),
        read_bytes_per_s=1.5 * GIB,
        write_bytes_per_s=0.0,
        logical_read_bytes_per_s=2.0 * GIB,
        cpu_percent=812.0,
        worker_cpu_percent=60.0,
        worker_blocked_percent=81.0,
        read_bytes_total=812 * GIB,
        write_bytes_total=12 * GIB,
        stragglers=(key(4132),),
    )


VERDICT = Verdict(
    "device_saturated",
    "high",
    "nvme0n1 is at its limit: the GPUs idle 62 % of the time, reads wait 5.21 ms (usually 0.3)",
    (
        Evidence("state_percent", 100.0, "%", 30.0, "nvme0n1 is saturated: reads wait 5.21 ms"),
        Evidence("blocked_percent", 81.0, "%", 30.0, "the loader workers wait 81 %"),
    ),
    "local SSD, shards; more workers only make the queue longer",
    10.0,
    "train.py:4120",
    devices=("nvme0n1",),
)
FED = Verdict("gpu_fed", "high", "nothing holds the GPUs back", (), "", 10.0, "other.py:9")


def starved(second: int = 0, verdict: Verdict = VERDICT, one_job: JobRow | None = None) -> Frame:
    one_job = one_job or job(verdict.job or "")
    workers = (
        busy(pid, 200, name="pt_data_worker", ppid=parent, role=f"loader worker {number}")
        for number, (pid, parent) in enumerate(((4131, 4120), (4132, 4120), (4133, 4121)))
    )
    return frame(
        time=NOW + second,
        gpus=(gpu(0), gpu(1)),
        gpu_driver=GpuDriver("ok", "570", ""),
        system=system(pressure_io_some_percent=41.0),
        devices=(device(state="saturated", read_bytes_per_s=1.5 * GIB, util_percent=100.0), device("vda")),
        processes=(
            process(4120, role="train.py rank 0, 2 workers"),
            process(4121, role="train.py rank 1, 1 worker"),
            *workers,
            process(4100, "torchrun", role="launcher"),
            busy(77, 900, name="backup"),
        ),
        jobs=(one_job,),
        verdict=verdict,
        verdicts=(verdict, FED),
    )


async def opened(it: Stage) -> None:
    for second in range(4):
        await it.give(starved(second))
    await it.press("tab", "enter")
    assert isinstance(it.app.screen, EvidenceScreen)


@pytest.mark.parametrize("size", SIZES)
async def test_the_verdicts_line_is_whole_at_every_size(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        await it.give(starved())
        line = it.line_with("DEVICE SATURATED")
        assert "nvme0n1" in line
        assert line.rstrip().endswith("+1 more  high")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("leave", ["escape", "q"])
async def test_enter_on_the_verdict_opens_the_evidence(size: tuple[int, int], leave: str) -> None:
    async with stage(size=size) as it:
        await opened(it)
        assert "train.py:4120  DEVICE SATURATED" in it.text()
        assert "81 %" in it.text()
        seen = it.text()
        for _ in range(60):
            await it.press("j")
            seen += it.text()
        for words in ("Try: local SSD", "GPU 0", "nvme0n1 r", "workers in D", "IO stall", "now", "other.py:9  GPU fed"):
            assert words in seen
        assert all(cell_width(line) == size[0] for line in it.screen())
        await it.press(leave)
        assert not isinstance(it.app.screen, EvidenceScreen)
        assert not it.app._exit


async def test_e_on_the_verdict_opens_the_evidence_and_closes_it() -> None:
    async with stage() as it:
        await it.give(starved())
        await it.press("tab", "e")
        assert isinstance(it.app.screen, EvidenceScreen)
        assert "Try: local SSD" in it.text()
        await it.press("e")
        assert not isinstance(it.app.screen, EvidenceScreen)
        assert "PROCESSES" in it.text()


async def test_e_on_the_gpus_plots_their_utilisation_and_memory() -> None:
    async with stage(size=(80, 24)) as it:
        for second in range(4):
            await it.give(starved(second))
        await it.press("tab", "tab", "tab", "e")
        assert "UTIL%   GPU 0   31%" in it.text()
        assert "MEM   GPU 0 64.0G" in it.text()


async def test_e_on_the_gpus_says_what_to_do_where_there_is_none() -> None:
    async with stage(size=(80, 24)) as it:
        await it.give(frame())
        await it.press("tab", "tab", "tab", "e")
        assert "--gpus all" in it.text()
        assert "goes on looking" in it.text()
        assert "no history" not in it.text()


async def test_a_click_on_the_verdict_opens_the_evidence() -> None:
    async with stage() as it:
        await it.give(starved())
        await it.pilot.click("#verdict")
        await it.pilot.pause()
        assert isinstance(it.app.screen, EvidenceScreen)


async def test_the_evidence_goes_on_with_the_frames() -> None:
    async with stage() as it:
        await opened(it)
        await it.give(starved(5, replace(VERDICT, cause="small_reads", summary="many small reads")))
        assert "SMALL READS" in it.text()
        assert "many small reads" in it.text()
        await it.press("space")
        await it.give(starved(6))
        assert "SMALL READS" in it.text()


async def test_nothing_opens_before_there_is_a_frame() -> None:
    async with stage() as it:
        await it.press("tab", "enter")
        assert not isinstance(it.app.screen, EvidenceScreen)


async def test_the_rows_that_the_verdict_names_are_marked() -> None:
    async with stage(Settings(ascii=True)) as it:
        await it.give(starved())
        assert it.line_with("/data").startswith("*nvme0n1")
        marked = [line for line in it.table()[1:] if line.startswith("*")]
        assert [line for line in marked if "train.py" in line or "loader" in line] == marked
        assert len(marked) == 5
        await it.give(starved(1, replace(VERDICT, cause="gpu_fed")))
        assert not [line for line in it.screen() if line.startswith("*")]


async def test_a_straggler_is_marked_in_the_table() -> None:
    async with stage() as it:
        await it.give(starved())
        assert it.line_with("loader worker 1").rstrip().endswith("lags")
        assert "lags" not in it.line_with("loader worker 0")


def by_threads(one: Frame) -> Frame:
    """Every process as its main thread, which does nothing, and another one that does all."""
    rows = []
    for row in one.processes:
        main = replace(row, key=row.key._replace(tid=row.pid), read_bytes_per_s=0.0)
        rows += [main, replace(row, key=ProcessKey(row.pid, row.key.start_ticks + 7, 50_000 + row.pid), name="helper")]
    return replace(one, processes=tuple(rows), threads=True)


async def test_by_threads_those_of_the_same_processes_are_marked() -> None:
    async with stage(Settings(ascii=True, threads=True)) as it:
        await it.give(by_threads(starved()))
        marked = [line.strip("*").split()[:2] for line in it.table()[1:] if line.startswith("*")]
        named = (4120, 4121, 4131, 4132, 4133)
        assert sorted(marked) == sorted([str(pid), str(tid)] for pid in named for tid in (pid, 50_000 + pid))
        lagging = [line.strip("*").split()[0] for line in it.table() if line.rstrip().endswith("lags")]
        assert lagging == ["4132", "4132"]


async def test_by_threads_the_job_of_a_member_has_the_sums_of_its_processes() -> None:
    texts = []
    for one, choice in ((starved(), Settings()), (by_threads(starved()), Settings(threads=True))):
        async with stage(choice) as it:
            await it.give(one)
            await it.press("down", "down", "enter")
            assert isinstance(it.app.screen, DetailsScreen)
            text = it.text()
            texts.append([line for line in text.splitlines() if re.search(r"│ loader worker|  train.py rank", line)])
    assert len(texts[0]) == 5
    assert "200M" in texts[0][1]
    assert texts[1] == texts[0]


async def test_the_details_of_a_member_begin_with_its_job() -> None:
    async with stage() as it:
        await it.give(starved())
        await it.press("down", "down", "enter")
        assert isinstance(it.app.screen, DetailsScreen)
        text = it.text()
        for words in ("Job train.py:4120", "GPU 0 1  6 processes", "read 1.50G/s", "read 812G", "written 12.0G"):
            assert words in text
        assert "│ loader worker 1  lags behind" in text
        order = [text.index(words) for words in ("rank 0", "│ loader worker 1", "rank 1", "│ loader worker 2")]
        assert order == sorted(order)
        await it.give(starved(1, one_job=replace(job(), read_bytes_per_s=3.0 * GIB)))
        assert "read 3.00G/s" in it.text()


async def test_threads_that_load_stand_beneath_their_rank() -> None:
    key = process(4120).key._replace(tid=4125)
    thread = MemberRow(key, 3.0, 0.0, 10, 0.0, 90.0, {}, True, "loader", read_bytes_per_s=32.0 * MIB)
    one = replace(starved(), readings=JobRows(members={key: thread}))
    async with stage() as it:
        await it.give(one)
        await it.press("down", "down", "enter")
        line = it.line_with("│ thread loader")
        assert line.split()[1:7] == ["4125", "32.0M", "-", "3", "90", "│"]


async def test_the_details_of_another_process_name_no_job() -> None:
    async with stage() as it:
        await it.give(starved())
        await it.press("down", "enter")
        assert "backup  pid 77" in it.text()
        assert "Job train.py" not in it.text()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ascii", [False, True])
async def test_hostile_names_break_nothing(size: tuple[int, int], ascii: bool) -> None:
    name = "x" * 300 if ascii else HOSTILE
    nasty = replace(
        VERDICT,
        job=name,
        summary=name,
        advice=name * 3,
        evidence=(Evidence(name, Missing.GONE, "", None, name),),
        devices=(name,),
    )
    one = starved(0, nasty)
    one = replace(one, devices=(device(name, state="stalled", read_bytes_per_s=5.0),))
    async with stage(Settings(ascii=ascii), size=size) as it:
        await it.give(one)
        await it.press("tab", "enter")
        assert isinstance(it.app.screen, EvidenceScreen)
        assert all(cell_width(line) == size[0] for line in it.screen())
        for _ in range(20):
            await it.press("pagedown")
        assert all(cell_width(line) == size[0] for line in it.screen())
        await it.press("escape", "tab", "tab", "tab", "tab", "down", "enter")
        assert all(cell_width(line) == size[0] for line in it.screen())


@pytest.mark.parametrize("width", [1, 10, 30, 52, 76, 190])
def test_the_evidence_keeps_to_its_width_and_to_ascii(width: int) -> None:
    frames = [starved(second) for second in range(5)]
    for ascii in (False, True):
        for height in (16, 36, 60):
            lines = evidence_lines(frames[-1], view(*frames, ascii=ascii), width, height)
            texts = ["".join(text for text, _ in line) for line in lines]
            assert all(cell_width(text) <= width for text in texts)
            assert not ascii or all(text.isascii() for text in texts)


def test_eight_gpus_are_drawn_as_their_mean_and_the_least_used() -> None:
    gpus = tuple(gpu(index, util_percent=20.0 if index == 5 else 90.0) for index in range(8))
    one = replace(starved(), gpus=gpus, jobs=(replace(job(), gpus=tuple(range(8))),))
    text = "\n".join("".join(text for text, _ in line) for line in evidence_lines(one, view(one), 110, 24))
    assert "8 GPUs" in text
    assert "GPU 5" in text
    assert "GPU 4" not in text


def test_without_a_verdict_the_evidence_says_what_is_waited_for() -> None:
    [line] = evidence_lines(frame(), view(frame()), 76, 24)
    assert "no verdict yet" in line[0][0]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (62.4, "%", "62 %"),
        (5.214, "ms", "5.21 ms"),
        (12_288.0, "B", "12.0K"),
        (2.0 * GIB, "B/s", "2.00G/s"),
        (0.0, "", "0"),
        (1.5, "W", "1.50 W"),
        (Missing.GONE, "", "-"),
    ],
)
def test_amounts_carry_their_unit(value: float | Missing, unit: str, text: str) -> None:
    assert amount(value, unit, view().units) == text


def test_a_member_whose_parents_are_a_circle_or_gone_stays_a_member() -> None:
    rows = {4131: process(4131, ppid=4132), 4132: process(4132, ppid=4131)}
    members = [member.pid for member, _ in family(job(), rows)]
    assert sorted(members) == [4100, 4120, 4121, 4131, 4132, 4133]


def test_full_screen_plots_draw_the_drivers_own_samples() -> None:
    samples = tuple((1 - number / 6, 100.0 if number == 3 else 0.0) for number in range(1, 7))
    frames = [frame(time=NOW + second, gpus=(gpu(0, util_percent=17.0, util_samples=samples),)) for second in range(9)]
    [plot] = plots_of([("GPU-0", "util_percent", "%")], frames[-1], view(*frames).history)
    [trace] = plot.traces
    assert trace.latest == 17.0
    assert len(trace.runs) == 1
    assert max(value for _, value in trace.runs[0]) > 50
    assert min(value for _, value in trace.runs[0]) == 0


async def test_keys_typed_at_once_go_where_the_first_of_them_leads() -> None:
    async with stage() as it:
        await it.give(starved())
        dashboard = it.app.screen
        assert isinstance(dashboard, Dashboard)
        dashboard.action_next_panel()
        dashboard.action_details()
        await it.pilot.pause()
        assert isinstance(it.app.screen, EvidenceScreen)


@pytest.mark.parametrize(("room", "seconds"), [(30, 0.5), (100, 0.5), (160, 0.5), (160, 1.0), (200, 5.0), (200, 60.0)])
def test_the_times_beneath_the_plots_stand_apart(room: int, seconds: float) -> None:
    line = "".join(text for text, _ in axis_lines(0, room, seconds, 10.0, ascii=False)[1])
    assert len(line) == room
    assert re.fullmatch(r" *(-\d+ (h|min|s)( \d+ (min|s))? +)+now", line)


def test_of_a_divided_gpu_a_job_is_shown_its_own_instance_alone() -> None:
    whole, *instances = divided_gpu(4120, 9, 4121)
    one = replace(starved(), gpus=(whole, *(replace(row, util_percent=50.0) for row in instances)))
    labels = [track.label for track in tracks_of(one, view(one), VERDICT, 30, 1.0)]
    assert [label for label in labels if label.startswith("GPU")] == ["GPU 0.mig0", "GPU 0.mig2"]
