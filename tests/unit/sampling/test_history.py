from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from iodash.model.frame import JobRow
from iodash.model.members import JobRows, MemberRow
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.sampling.history import History, job_subject
from tests.ui.frames import NOW, device, frame, gpu, system


def _values(history: History, subject: str, name: str) -> list[float | Missing]:
    return [point.value for point in history.series(subject, name)]


def test_points_hold_when_over_what_span_and_how_much() -> None:
    history = History()
    history.add(frame(time=NOW, interval_s=1.5, system=system(cpu_user_percent=20.0)))
    assert history.series("", "cpu_user_percent") == ((NOW, 1.5, 20.0),)


def test_every_kind_of_subject_has_its_series() -> None:
    history = History()
    history.add(frame(devices=(device("nvme0n1", util_percent=80.0),), gpus=(gpu(0, util_percent=31.0),)))
    assert _values(history, "nvme0n1", "util_percent") == [80.0]
    assert _values(history, "GPU-0", "util_percent") == [31.0]
    assert history.series("sda", "util_percent") == ()
    assert history.series("", "no_such_series") == ()


def test_a_job_keeps_how_long_its_loaders_wait() -> None:
    row = JobRow("a:1", "a", (ProcessKey(1, 1),), (ProcessKey(2, 2),), (), (), 5.0, 0.0, 0.0, 30.0, 10.0, 80.0, 1, 1)
    members = {ProcessKey(1, 1): MemberRow(ProcessKey(1, 1), 0.0, 0.0, 6, 0.0, 40.0, {}, True)}
    alone = replace(row, name="b:2", workers=(), worker_blocked_percent=Missing.NOT_MEASURED)
    history = History()
    history.add(frame(jobs=(row, alone), readings=JobRows(members=members)))
    assert _values(history, job_subject("a:1"), "blocked_percent") == [80.0]
    assert _values(history, job_subject("b:2"), "blocked_percent") == [40.0]
    assert _values(history, job_subject("b:2"), "cpu_percent") == [30.0]
    thread = ProcessKey(1, 1, 7)
    members[thread] = MemberRow(thread, 0.0, 0.0, 6, 0.0, 90.0, {}, True)
    worker = ProcessKey(2, 1)
    members[worker] = MemberRow(worker, 0.0, 0.0, 6, 0.0, 99.0, {}, True)
    history.add(frame(jobs=(row, alone), readings=JobRows(members=members)))
    assert _values(history, job_subject("b:2"), "blocked_percent") == [40.0, 90.0]


def test_reasons_are_kept_and_a_series_that_was_never_known_is_empty() -> None:
    history = History()
    for await_ms in (1.0, Missing.NO_IO, Missing.OFF, 2.0):
        history.add(frame(devices=(device("vda", await_ms=await_ms, queue_length=Missing.OFF),)))
    assert _values(history, "vda", "await_ms") == [1.0, Missing.NO_IO, Missing.OFF, 2.0]
    assert history.series("vda", "queue_length") == ()


@given(st.lists(st.one_of(st.floats(0, 1e15), st.sampled_from(list(Missing))), max_size=25), st.integers(1, 8))
def test_the_newest_values_are_kept(values: list[float | Missing], length: int) -> None:
    history = History(length)
    for tick, value in enumerate(values):
        history.add(frame(time=NOW + tick, devices=(device("vda", util_percent=value),)))
    kept = values[-length:]
    expected = kept if any(not isinstance(value, Missing) for value in kept) else []
    assert _values(history, "vda", "util_percent") == expected
    if expected:
        first = NOW + len(values) - len(kept)
        assert [point.time for point in history.series("vda", "util_percent")] == [first + n for n in range(len(kept))]


def test_the_last_points_are_the_newest() -> None:
    history = History()
    for tick in range(5):
        history.add(frame(time=NOW + tick, system=system(cpu_user_percent=tick)))
    assert [point.value for point in history.last("", "cpu_user_percent", 2)] == [3.0, 4.0]
    assert history.last("", "cpu_user_percent", 0) == ()
    assert len(history.last("", "cpu_user_percent", 99)) == 5


def test_a_device_that_was_away_leaves_a_gap() -> None:
    history = History(10)
    plugged, pulled = (device("vda"), device("sdb", util_percent=7.0)), (device("vda"),)
    for devices in (plugged, pulled, pulled, plugged):
        history.add(frame(devices=devices))
    assert _values(history, "sdb", "util_percent") == [7.0, Missing.GONE, Missing.GONE, 7.0]


def test_a_subject_that_stays_away_is_forgotten() -> None:
    history = History(3)
    history.add(frame(devices=(device("sdb"),), gpus=(gpu(0, util_samples=((0.5, 90.0),)),)))
    for _ in range(2):
        history.add(frame(devices=()))
    assert history.series("sdb", "util_percent") != ()
    history.add(frame(devices=()))
    assert history.series("sdb", "util_percent") == ()
    assert history.series("GPU-0", "util_samples") == ()
    history.add(frame(devices=(device("sdb", util_percent=1.0),)))
    assert _values(history, "sdb", "util_percent") == [1.0]


def test_a_gpus_own_samples_lie_on_the_time_axis() -> None:
    history = History(2)
    history.add(frame(time=NOW, interval_s=1.0, gpus=(gpu(0, util_samples=((0.75, 100.0), (0.25, 0.0))),)))
    assert history.series("GPU-0", "util_samples") == ((NOW - 0.75, 0.25, 100.0), (NOW - 0.25, 0.5, 0.0))
    assert history.last("GPU-0", "util_samples", 1) == ((NOW - 0.25, 0.5, 0.0),)
    assert history.last("GPU-0", "util_samples", 0) == ()
    for second in range(1, 30):
        history.add(frame(time=NOW + second, gpus=(gpu(0, util_samples=((0.75, 1.0), (0.25, 2.0))),)))
    assert len(history.series("GPU-0", "util_samples")) <= 12


def test_a_copy_is_the_past_that_later_frames_do_not_change() -> None:
    history = History()
    history.add(frame(system=system(cpu_user_percent=1.0), gpus=(gpu(0, util_samples=((0.5, 9.0),)),)))
    frozen = history.copy()
    history.add(frame(system=system(cpu_user_percent=2.0), gpus=(gpu(0, util_samples=((0.5, 8.0),)),)))
    assert _values(frozen, "", "cpu_user_percent") == [1.0]
    assert _values(frozen, "GPU-0", "util_samples") == [9.0]
    assert _values(history, "", "cpu_user_percent") == [1.0, 2.0]


def test_hundreds_of_devices_stay_small() -> None:
    history = History(600)
    devices = tuple(device(f"loop{number}") for number in range(200))
    one = frame(devices=devices)
    for _ in range(700):
        history.add(one)
    assert sum(sys.getsizeof(ring._values) for _, ring in history._rings.values()) < 10 << 20
