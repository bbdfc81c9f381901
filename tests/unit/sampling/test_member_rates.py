from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from iodash.model.members import CgroupCounters, IoLimit, JobReadings, MemberCounters, QuotaPeriods
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.sampling.members import job_rows

KEY = ProcessKey(7, 70)
MEMBER = MemberCounters(
    key=KEY,
    read_at=10.0,
    main_thread_cpu_s=1.0,
    run_delay_ns=0,
    looks=0,
    running=0,
    blocked=0,
    waits={},
    waits_readable=True,
)


def cgroup(**values: Any) -> CgroupCounters:
    numbers = {field.name: 0 for field in fields(CgroupCounters) if str(field.type) in ("Number", "Count")}
    mappings = ("cpu_periods", "read_bytes", "write_bytes", "read_operations", "write_operations")
    empty: dict[str, Any] = {name: {} for name in mappings}
    return CgroupCounters(**{"path": "/job", "io_limits": (), **numbers, **empty, **values})


def periods(groups: dict[str, tuple[int, int]]) -> dict[str, QuotaPeriods]:
    return {folder: QuotaPeriods(*counted) for folder, counted in groups.items()}


def between(old: CgroupCounters, new: CgroupCounters, seconds: float = 2.0) -> Any:
    rows = job_rows(JobReadings(cgroups={"/job": old}), JobReadings(cgroups={"/job": new}), seconds, 4096)
    return rows.cgroups["/job"]


def test_shares_of_a_members_time_are_over_its_own_interval() -> None:
    new = replace(
        MEMBER,
        read_at=14.0,
        main_thread_cpu_s=2.0,
        run_delay_ns=2_000_000_000,
        looks=20,
        running=5,
        blocked=10,
        waits={"block": 8, "queue": 0},
    )
    row = job_rows(JobReadings(members={KEY: MEMBER}), JobReadings(members={KEY: new}), 1.0, 4096).members[KEY]
    assert (row.main_thread_cpu_percent, row.run_delay_percent) == (25.0, 50.0)
    assert (row.running_percent, row.blocked_percent) == (25.0, 50.0)
    assert row.waits == {"block": 40.0}


def test_a_member_that_nobody_looked_at_has_no_shares() -> None:
    new = replace(MEMBER, read_at=11.0)
    row = job_rows(JobReadings(members={KEY: MEMBER}), JobReadings(members={KEY: new}), 1.0, 4096).members[KEY]
    assert row.running_percent is Missing.NOT_MEASURED
    assert row.blocked_percent is Missing.NOT_MEASURED


def test_who_is_new_has_no_row_yet() -> None:
    rows = job_rows(JobReadings(), JobReadings(members={KEY: MEMBER}, cgroups={"/job": cgroup()}), 1.0, 4096)
    assert rows.members == {}
    assert rows.cgroups == {}
    assert job_rows(JobReadings(), JobReadings(), 1.0, 4096).members == {}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"/job": (0, 0)}, {"/job": (20, 5)}, 25.0),
        ({"/job": (20, 5)}, {"/job": (20, 5)}, 0.0),
        ({"/job": (20, 5)}, {"/job": (10, 0)}, Missing.RESET),
        ({}, {"/job": (20, 5)}, Missing.NEW),
        ({"/job": (20, 5)}, {}, Missing.UNSUPPORTED),
        ({"/job": (20, 5), "/": (8000, 90)}, {"/job": (30, 10), "/": (8010, 91)}, 50.0),
        ({"/job": (0, 40), "/": (8000, 39)}, {"/job": (10, 40), "/": (8010, 49)}, 100.0),
        ({"/job": (50, 5), "/": (8000, 90)}, {"/job": (10, 5), "/": (8010, 91)}, 10.0),
    ],
)
def test_the_share_of_periods_that_a_quota_cut_short(
    old: dict[str, tuple[int, int]], new: dict[str, tuple[int, int]], expected: object
) -> None:
    row = between(cgroup(cpu_periods=periods(old)), cgroup(cpu_periods=periods(new)))
    assert row.cpu_throttled_percent == expected


def test_each_limit_stands_beside_the_rate_that_it_holds_down() -> None:
    limits = (
        IoLimit("vda", "read", "bytes", 1000),
        IoLimit("vda", "write", "operations", 50),
        IoLimit("sdb", "read", "bytes", 1000),
    )
    row = between(
        cgroup(read_bytes={"vda": 500}, write_operations={"vda": 10}),
        cgroup(read_bytes={"vda": 2500}, write_operations={"vda": 110}, write_bytes={"vda": 4000}, io_limits=limits),
    )
    assert row.io_limits == ((limits[0], 1000.0), (limits[1], 50.0), (limits[2], Missing.NOT_MEASURED))
    assert row.read_bytes_per_s == {"vda": 1000.0}
    assert row.write_bytes_per_s == {"vda": 2000.0}


def test_pressure_is_a_share_of_the_interval_and_refaults_are_bytes() -> None:
    row = between(cgroup(), cgroup(pressure_io_full_us=500_000, refault_pages=10, pressure_cpu_some_us=Missing.OFF))
    assert row.pressure_io_full_percent == 25.0
    assert row.pressure_cpu_some_percent is Missing.OFF
    assert row.refault_bytes_per_s == 5 * 4096
