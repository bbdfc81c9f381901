from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.diagnosis.devices import DeviceStates
from iodash.model.frame import DeviceRow, Frame, OwnCost, UnattributedRow
from iodash.model.members import IoLimit, JobRows
from iodash.model.missing import Missing
from iodash.model.sample import MountCounters, Sample
from iodash.sampling.devices import device_rows
from iodash.sampling.system import system_row
from tests.samples import device_counters, sample
from tests.unit.diagnosis.stories import cgroup

NOBODY = JobRows()


def limited(device: str, unit: Literal["bytes", "operations"], per_s: float, rate: float) -> JobRows:
    """A job whose control group reads at `rate` from a device on which it has a limit."""
    limits = ((IoLimit("sdz", "read", "bytes", 100.0), 1.0), (IoLimit(device, "read", unit, per_s), rate))
    return JobRows(cgroups={"/job": cgroup(io_limits=limits)})


class Disk:
    """A disk on which things happen, interval after interval, judged as they do."""

    def __init__(self, *, slots: int | None = 1024, seconds: float = 1.0) -> None:
        self.states = DeviceStates()
        self.slots = slots
        self.seconds = seconds
        self.counters = device_counters("nvme0n1", slots=slots)
        self.now = 100.0

    def interval(
        self,
        *,
        reads: int = 0,
        wait: float = 0.0,
        writes: int = 0,
        write_wait: float = 0.0,
        size: int = 16384,
        util: float = 0.0,
        in_flight: int = 0,
        readings: JobRows | None = None,
        **changed: Any,
    ) -> DeviceRow:
        """What the next interval is judged: `wait` in ms a request, `size` in bytes, `util` in percent."""
        old = self.counters
        busy = round(reads * wait + writes * write_wait)

        def more(name: str, amount: float) -> int:
            before = getattr(old, name)
            assert isinstance(before, int)
            return before + round(amount)

        values: dict[str, Any] = {
            "reads": more("reads", reads),
            "sectors_read": more("sectors_read", reads * size / 512),
            "read_ms": more("read_ms", reads * wait),
            "writes": more("writes", writes),
            "sectors_written": more("sectors_written", writes * size / 512),
            "write_ms": more("write_ms", writes * write_wait),
            "queue_ms": more("queue_ms", busy),
            "io_ticks_ms": more("io_ticks_ms", util * 10 * self.seconds),
            "in_flight": in_flight,
            "slots": self.slots,
        }
        new = device_counters("nvme0n1", **(values | changed))
        self.counters = device_counters("nvme0n1", **values)
        before, after = sample(self.now, devices=(old,)), sample(self.now + self.seconds, devices=(new,))
        self.now += self.seconds
        return judged(self.states, before, after, readings or JobRows())[0]

    def light_load(self, intervals: int = 10, wait: float = 0.3) -> None:
        for _ in range(intervals):
            assert self.interval(reads=100, wait=wait, util=3).state == "ok"


def judged(states: DeviceStates, old: Sample, new: Sample, readings: JobRows = NOBODY) -> tuple[DeviceRow, ...]:
    seconds = new.monotonic - old.monotonic
    devices = device_rows(old, new, seconds)
    frame = Frame(
        time=new.time,
        interval_s=seconds,
        host=new.host,
        system=system_row(old, new, seconds, devices),
        devices=devices,
        processes=(),
        unattributed=UnattributedRow(0, 0, ()),
        gpu_driver=new.gpu_driver,
        gpus=(),
        own=OwnCost(0, 0, 0, 0, 0),
        readings=readings,
    )
    return states.judge(frame)


def test_at_rest_it_is_idle_and_in_use_it_is_ok() -> None:
    disk = Disk()
    assert disk.interval().state == "idle"
    assert disk.interval(reads=10, wait=0.3, util=1).state == "ok"
    assert disk.interval(discards=5).state == "ok"


def test_in_use_nearly_all_the_time_it_is_busy_until_it_clearly_is_not() -> None:
    disk = Disk()
    busy = disk.interval(reads=900, wait=1, util=95)
    assert (busy.state, busy.state_reason) == ("busy", "in use 95 % of the time, at 100 % of the best seen")
    assert disk.interval(reads=900, wait=1, util=85).state == "busy"
    assert disk.interval(reads=900, wait=1, util=75).state == "ok"
    assert disk.interval(reads=900, wait=1, util=85).state == "ok"


def test_a_second_without_a_completion_while_requests_are_in_flight_is_a_stall() -> None:
    disk = Disk()
    assert disk.interval(reads=100, wait=1, util=60, in_flight=64).state == "ok"
    stalled = disk.interval(util=99.6, in_flight=64)
    assert (stalled.state, stalled.state_reason) == ("stalled", "64 in flight, nothing completed for 1 s")
    assert stalled.stalled_s == pytest.approx(1.0, abs=0.01)
    for _ in range(10):
        disk.interval(util=100, in_flight=64)
    longer = disk.interval(util=100, in_flight=64)
    assert longer.state_reason == "64 in flight, nothing completed for 12 s"
    over = disk.interval(reads=64, wait=12000, util=10, in_flight=3)
    assert over.state != "stalled"
    assert over.stalled_s == 0


def test_a_request_that_has_only_just_been_sent_is_no_stall() -> None:
    disk = Disk()
    assert disk.interval(util=30, in_flight=1).state == "ok"
    assert disk.interval(util=20, in_flight=1).state == "ok"


def test_short_intervals_add_up_to_a_stall_and_not_before() -> None:
    disk = Disk(seconds=0.1)
    states = [disk.interval(util=100, in_flight=2).state for _ in range(10)]
    assert states == ["busy"] * 9 + ["stalled"]


def test_a_gauge_that_leaks_on_a_device_at_rest_is_no_stall() -> None:
    disk = Disk()
    for _ in range(5):
        assert disk.interval(util=0, in_flight=1).state == "ok"


def test_all_slots_taken_is_queued() -> None:
    disk = Disk(slots=64)
    queued = disk.interval(reads=10000, wait=6.3, util=100, in_flight=64)
    assert (queued.state, queued.state_reason) == ("queued", "63.0 requests queued or in service, 64 fit at once")
    assert disk.interval(reads=10000, wait=3.5, util=100, in_flight=64).state == "queued"
    assert disk.interval(reads=10000, wait=1, util=100, in_flight=64).state == "busy"
    assert Disk(slots=None).interval(reads=10000, wait=6.3, util=100, in_flight=64).state == "busy"


def test_at_the_best_seen_with_long_waits_it_is_saturated() -> None:
    disk = Disk()
    disk.light_load()
    disk.interval(reads=12000, wait=5.2, util=100, in_flight=64)
    row = disk.interval(reads=11900, wait=5.2, util=100, in_flight=64)
    assert row.state == "saturated"
    assert row.state_reason.startswith("reads wait 5.20 ms, usually 0.30; at 99 % of the best seen (12.0k/s or ")
    assert row.state_reason.endswith(", queue 61.9")


def test_full_speed_with_short_waits_is_busy_not_saturated() -> None:
    disk = Disk()
    disk.light_load()
    for _ in range(5):
        assert disk.interval(reads=3000, wait=0.4, util=100, in_flight=4).state == "busy"


def test_saturation_does_not_flap_around_its_threshold_and_ends() -> None:
    disk = Disk()
    disk.light_load()
    states = [disk.interval(reads=10000, wait=5, util=100).state for _ in range(3)]
    assert states == ["busy", "saturated", "saturated"]
    states = [disk.interval(reads=9200 + 400 * (n % 2), wait=4 + n % 2, util=100).state for n in range(6)]
    assert set(states) == {"saturated"}
    assert disk.interval(reads=100, wait=0.3, util=3).state == "ok"


def test_one_bad_interval_is_not_called_saturated_or_slow() -> None:
    disk = Disk()
    disk.light_load()
    assert disk.interval(reads=10000, wait=5, util=100).state == "busy"
    assert disk.interval(reads=100, wait=0.3, util=3).state == "ok"
    assert disk.interval(reads=100, wait=20, util=80).state == "ok"
    assert disk.interval(reads=100, wait=0.3, util=3).state == "ok"


@pytest.mark.parametrize(
    ("between", "state"),
    [
        ({"reads": 500, "wait": 128, "util": 100, "in_flight": 64}, "queued"),
        ({"util": 100, "in_flight": 3}, "stalled"),
        ({}, "idle"),
        ({"reads": 100, "wait": 0.3, "util": 3}, "ok"),
    ],
)
def test_what_lies_between_two_bad_intervals_parts_them(between: dict[str, Any], state: object) -> None:
    disk = Disk(slots=64)
    disk.interval(reads=10000, wait=0.2, util=89)
    disk.light_load()
    assert disk.interval(reads=50, wait=20, util=70).state == "ok"
    assert disk.interval(**between).state == state
    assert [disk.interval(reads=50, wait=20, util=70).state for _ in range(2)] == ["ok", "slow"]


def test_an_interval_that_was_not_measured_parts_two_bad_ones_too() -> None:
    disk = Disk()
    disk.interval(reads=10000, wait=0.2, util=89)
    disk.light_load()
    assert disk.interval(reads=50, wait=20, util=70).state == "ok"
    fallen = device_counters("nvme0n1", reads=1)
    (row,) = judged(disk.states, sample(1, devices=(disk.counters,)), sample(2, devices=(fallen,)))
    assert row.state is Missing.RESET
    assert [disk.interval(reads=50, wait=20, util=70).state for _ in range(2)] == ["ok", "slow"]


def test_without_a_light_past_only_very_long_waits_in_a_queue_saturate() -> None:
    disk = Disk()
    assert [disk.interval(reads=1000, wait=30, util=100).state for _ in range(2)] == ["busy", "saturated"]
    fast = Disk()
    assert [fast.interval(reads=10000, wait=3, util=100).state for _ in range(3)] == ["busy"] * 3


def test_long_waits_at_little_work_are_slow() -> None:
    disk = Disk()
    disk.interval(reads=10000, wait=0.2, util=90)
    disk.light_load()
    disk.interval(reads=50, wait=20, util=70)
    slow = disk.interval(reads=50, wait=20, util=70)
    assert slow.state == "slow"
    assert slow.state_reason == "reads wait 20.0 ms, usually 0.30, at <1 % of the best throughput seen"
    assert disk.interval(reads=100, wait=0.3, util=3).state == "ok"


def test_each_direction_and_size_is_measured_against_itself() -> None:
    disk = Disk()
    disk.interval(reads=10000, wait=0.2, util=90)
    disk.light_load()
    for _ in range(10):
        assert disk.interval(writes=20, write_wait=20, util=40).state == "ok"
        assert disk.interval(reads=20, wait=8, size=1 << 20, util=40).state == "ok"
    disk.interval(writes=20, write_wait=200, util=90)
    slow = disk.interval(writes=20, write_wait=200, util=90)
    assert (slow.state, slow.state_reason.split(",")[0]) == ("slow", "writes wait 200 ms")


def test_a_wait_of_one_or_two_requests_says_nothing() -> None:
    disk = Disk()
    disk.interval(reads=10000, wait=0.2, util=90)
    disk.light_load()
    for _ in range(4):
        assert disk.interval(reads=2, wait=50, util=10).state == "ok"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Missing.OFF, "queue/iostats"),
        (Missing.UNSUPPORTED, "counts nothing"),
        (Missing.NO_PERMISSION, "no permission"),
    ],
)
def test_where_rates_are_missing_the_state_is_the_reason(reason: Missing, words: str) -> None:
    unknown: dict[str, Any] = dict.fromkeys(("reads", "writes", "in_flight"), reason)
    unread = device_counters("nvme0n1", **unknown)
    (row,) = judged(DeviceStates(), sample(1, devices=(unread,)), sample(2, devices=(unread,)))
    assert row.state is reason
    assert words in row.state_reason


def test_new_and_reset_devices_say_so_and_are_judged_again_after() -> None:
    disk = Disk()
    (first,) = judged(disk.states, sample(1, devices=()), sample(2, devices=(disk.counters,)))
    assert (first.state, first.state_reason) == (Missing.NEW, "seen for the first time")
    disk.interval(reads=500, wait=1, util=50)
    fallen = device_counters("nvme0n1", reads=1)
    (row,) = judged(disk.states, sample(1, devices=(disk.counters,)), sample(2, devices=(fallen,)))
    assert (row.state, row.state_reason) == (Missing.RESET, "its counters started again")
    assert disk.interval(reads=10, wait=0.3).state == "ok"


def mount(**values: Any) -> MountCounters:
    counts = [
        "operations",
        "retransmits",
        "reads",
        "writes",
        "read_bytes",
        "written_bytes",
        "read_execute_ms",
        "write_execute_ms",
    ]
    every: dict[str, Any] = dict.fromkeys((*counts, "rtt_ms", "queue_ms", "execute_ms", "in_flight"), 0)
    return MountCounters("nas:/x", "nfs", 0, 44, ("/x",), "nfs4", **(every | values))


def test_network_mounts_are_judged_by_their_operations() -> None:
    states = DeviceStates()

    def step(old: MountCounters, new: MountCounters) -> DeviceRow:
        before, after = sample(1, devices=(), mounts=(old,)), sample(2, devices=(), mounts=(new,))
        return judged(states, before, after)[0]

    assert step(mount(), mount()).state == "idle"
    assert step(mount(), mount(operations=50, execute_ms=100)).state == "ok"
    for _ in range(8):
        step(mount(), mount(operations=900, reads=900, read_execute_ms=900, execute_ms=900))
    slow = mount(operations=20, reads=20, read_execute_ms=4000, execute_ms=4000)
    step(mount(), slow)
    assert step(mount(), slow).state == "slow"


def test_fuse_is_busy_while_requests_wait_and_else_unknown() -> None:
    states = DeviceStates()
    unknown: dict[str, Any] = dict.fromkeys(("operations", "reads", "writes", "read_bytes"), Missing.UNSUPPORTED)

    def step(waiting: int) -> DeviceRow:
        now = mount(**unknown, in_flight=waiting)
        return judged(states, sample(1, devices=(), mounts=(now,)), sample(2, devices=(), mounts=(now,)))[0]

    assert (step(3).state, step(3).state_reason) == ("busy", "3 waiting for an answer; it counts nothing else")
    assert step(0).state is Missing.UNSUPPORTED


def test_a_device_that_is_gone_is_forgotten() -> None:
    disk = Disk()
    disk.light_load()
    judged(disk.states, sample(1, devices=()), sample(2, devices=()))
    states = [disk.interval(reads=10000, wait=5, util=100).state for _ in range(3)]
    assert states == ["busy"] * 3


@given(
    st.lists(st.tuples(st.integers(0, 20000), st.floats(0, 50), st.floats(0, 101), st.integers(0, 100)), max_size=30)
)
def test_any_course_of_events_is_judged_with_a_sentence_for_what_is_loud(
    course: list[tuple[int, float, float, int]],
) -> None:
    disk = Disk(slots=64)
    for reads, wait, util, in_flight in course:
        row = disk.interval(reads=reads, wait=wait, util=util, in_flight=in_flight)
        assert isinstance(row.state, str)
        assert bool(row.state_reason) == (row.state not in ("idle", "ok"))
        assert row.state != "stalled" or row.reads_per_s == 0


def test_what_is_remembered_is_bounded() -> None:
    disk = Disk()
    disk.light_load(600)
    (past,) = disk.states._past.values()
    assert sum(map(len, past.light.values())) <= 240


def test_at_a_limit_of_the_jobs_control_group_it_is_throttled_until_well_below() -> None:
    disk = Disk()
    disk.light_load()
    states = []
    for used in (0.85, 0.97, 0.97, 0.85, 0.75):
        row = disk.interval(
            reads=20, wait=0.3, util=2, readings=limited("nvme0n1", "bytes", 20 << 20, used * (20 << 20))
        )
        states.append(row.state)
        if used == 0.97:
            reason = row.state_reason
    assert states == ["ok", "ok", "throttled", "throttled", "ok"]
    assert reason == "a control group's limit of 20.0 MiB/s holds reads back, 97 % of it is used"


def test_a_limit_on_another_device_does_not_throttle_this_one() -> None:
    disk = Disk()
    for _ in range(4):
        row = disk.interval(reads=20, wait=0.3, util=2, readings=limited("nvme1n1", "operations", 100, 100))
    assert row.state == "ok"


def test_a_full_queue_is_the_deeper_cause_than_a_limit_that_is_nearly_used() -> None:
    disk = Disk(slots=64)
    for _ in range(3):
        row = disk.interval(
            reads=10000, wait=6.3, util=100, in_flight=64, readings=limited("nvme0n1", "operations", 10000, 9800)
        )
    assert row.state == "queued"
