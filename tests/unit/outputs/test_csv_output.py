from __future__ import annotations

import csv
import io
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from iodash.model.failure import Failure
from iodash.model.frame import Frame, SystemRow
from iodash.model.missing import Missing
from iodash.model.settings import Settings
from iodash.outputs.csv import DEVICE_FIELDS, GPU_FIELDS, SYSTEM_FIELDS, CsvWriter
from tests.ui import frames


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def written(*all_frames: Frame, settings: Settings | None = None) -> str:
    stream = io.StringIO(newline="")
    writer = CsvWriter(stream.write, settings or Settings())
    for frame in all_frames:
        writer.write(frame)
    return stream.getvalue()


def test_the_first_columns_tell_the_time() -> None:
    text = written(frames.frame(interval_s=1.002))
    assert text.startswith("time,epoch_s,interval_s,cpu_user_percent,")
    (row,) = table(text)
    assert (row["time"], row["epoch_s"], row["interval_s"]) == ("2026-09-21T14:13:20.000Z", "1790000000.000", "1.002")


def test_every_row_ends_as_the_standard_wants_and_has_all_columns() -> None:
    text = written(frames.frame(gpus=(frames.gpu(3),)), frames.frame(gpus=()), frames.frame(devices=()))
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(lines) == 4
    assert {len(line) for line in lines} == {3 + len(SYSTEM_FIELDS) + len(DEVICE_FIELDS) + len(GPU_FIELDS)}
    assert text.count("\r\n") == text.count("\n") == 4


def test_devices_and_gpus_have_columns_of_their_own() -> None:
    frame = frames.frame(
        devices=(frames.device("vda", read_bytes_per_s=4096.0, await_ms=0.25),),
        gpus=(frames.gpu(1, power_watts=412.5),),
    )
    (row,) = table(written(frame))
    assert row["vda.read_bytes_per_s"] == "4096"
    assert row["vda.await_ms"] == "0.25"
    assert row["gpu1.power_watts"] == "412.5"


def test_instances_of_a_divided_gpu_have_columns_of_their_own() -> None:
    first = frames.frame(gpus=(*frames.divided_gpu(71, 72), frames.gpu(1)))
    whole, left, right = frames.divided_gpu(71, 72)
    later = frames.frame(gpus=(whole, replace(right, memory_used_bytes=7), replace(left, memory_used_bytes=5)))
    text = written(first, later)
    header = text.splitlines()[0].split(",")
    assert len(set(header)) == len(header)
    one, two = table(text)
    names = [f"{gpu}.memory_used_bytes" for gpu in ("gpu0", "gpu0.mig0", "gpu0.mig1", "gpu1")]
    assert [one[name] for name in names] == [str(gib * frames.GIB) for gib in (64, 1, 2, 64)]
    assert [two[name] for name in names] == [str(64 * frames.GIB), "5", "7", ""]


def test_the_columns_stay_what_they_were_at_the_start() -> None:
    first = frames.frame(devices=(frames.device("vda", reads_per_s=1.0), frames.device("vdb", reads_per_s=2.0)))
    later = frames.frame(devices=(frames.device("vdc", reads_per_s=9.0), frames.device("vda", reads_per_s=3.0)))
    one, two = table(written(first, later))
    assert (one["vda.reads_per_s"], one["vdb.reads_per_s"]) == ("1", "2")
    assert (two["vda.reads_per_s"], two["vdb.reads_per_s"]) == ("3", "")
    assert not any(name.startswith("vdc") for name in two)


def test_unknown_is_empty_and_zero_is_zero() -> None:
    (row,) = table(written(frames.frame(system=frames.system(load_1=Missing.OFF, load_5=0.0))))
    assert row["load_1"] == ""
    assert row["load_5"] == "0"


def test_names_with_commas_and_quotes_are_quoted() -> None:
    name = 'nas:/a,"b"'
    frame = frames.frame(devices=(frames.device(name, reads_per_s=7.0),))
    (row,) = table(written(frame))
    assert row[f"{name}.reads_per_s"] == "7"


def test_devices_are_chosen_as_everywhere() -> None:
    frame = frames.frame(devices=(frames.device("vda"), frames.device("loop0", kind="loop")))
    assert not any("loop0" in name for name in table(written(frame))[0])
    everything = table(written(frame, settings=Settings(all_devices=True)))[0]
    assert any(name.startswith("loop0.") for name in everything)


def test_each_row_is_flushed(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    writer = CsvWriter(file, Settings())
    for count in (1, 2):
        writer.write(frames.frame())
        assert len(table(file.read_text())) == count
    writer.close()


def test_a_file_is_appended_to_when_its_header_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    for _ in range(2):
        writer = CsvWriter(file, Settings())
        writer.write(frames.frame())
        writer.close()
    rows = table(file.read_text())
    assert len(rows) == 2
    assert rows[0] == rows[1]
    assert "time" not in rows[1]["time"]


def test_a_torn_last_row_is_ended_before_the_next(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    header = written(frames.frame()).splitlines(keepends=True)[0]
    file.write_bytes(header.encode() + b"2026-01-01T00:00:00.000Z,17")
    writer = CsvWriter(file, Settings())
    writer.write(frames.frame())
    writer.close()
    rows = table(file.read_bytes().decode())
    assert [row["epoch_s"] for row in rows] == ["17", "1790000000.000"]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("time,epoch_s\r\n1,2\r\n", "it has no interval_s, cpu_user_percent"),
        ("made by hand\n", "it has made by hand besides"),
    ],
)
def test_a_file_with_another_header_is_refused_and_left_alone(tmp_path: Path, before: str, words: str) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(before.encode())
    writer = CsvWriter(file, Settings())
    with pytest.raises(Failure, match=words):
        writer.write(frames.frame())
    writer.close()
    assert file.read_bytes() == before.encode()


def test_another_order_of_columns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    header = written(frames.frame()).splitlines()[0].split(",")
    file.write_text(",".join([*header[:3], *reversed(header[3:])]) + "\n")
    with closing(CsvWriter(file, Settings())) as writer, pytest.raises(Failure, match="another order"):
        writer.write(frames.frame())


def test_an_empty_file_gets_a_header(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.touch()
    writer = CsvWriter(file, Settings())
    writer.write(frames.frame())
    writer.close()
    assert len(table(file.read_text())) == 1


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b"\xff\xfe\x00" * 100)
    with closing(CsvWriter(file, Settings())) as writer, pytest.raises(Failure, match=r"cannot append to .*x\.csv"):
        writer.write(frames.frame())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"cannot write .*no/x\.csv: No such file or directory; make its folder first"):
        CsvWriter(tmp_path / "no" / "x.csv", Settings())


def test_a_full_disk_is_a_failure() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    writer = CsvWriter(Path("/dev/full"), Settings())
    with pytest.raises(Failure, match="No space left on device; make room"):
        writer.write(frames.frame())
    writer.close()


def test_the_system_columns_are_the_fields_of_the_frame() -> None:
    assert set(SYSTEM_FIELDS) == set(SystemRow.__dataclass_fields__)
