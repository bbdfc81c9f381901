from __future__ import annotations

from pathlib import Path

import pytest

from iodash import cli
from iodash.commands import batch, dashboard
from iodash.commands.iostat_words import Request, parse
from iodash.model.failure import UsageError
from iodash.model.settings import Settings
from iodash.outputs.iostat import ALL, Layout

Call = tuple[str, Settings, str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Call]:
    """What the command line would have run, with which settings."""
    made: list[Call] = []
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run_batch(settings: Settings, output_format: str) -> int:
        made.append(("batch", settings, output_format))
        return 0

    def run_dashboard(settings: Settings) -> int:
        made.append(("dashboard", settings, ""))
        return 0

    monkeypatch.setattr(batch, "run_batch", run_batch)
    monkeypatch.setattr(dashboard, "run_dashboard", run_dashboard)
    return made


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("", Settings()),
        ("-d 0.1", Settings(delay=0.1)),
        ("--delay=2.5 --iter 3", Settings(delay=2.5, iter=3)),
        ("-oak", Settings(only=True, accumulated=True, kilobytes=True)),
        ("--threads", Settings(threads=True)),
        ("--threads -P", Settings(threads=False)),
        ("-p 1 2 -p 3,4", Settings(pid=(1, 2, 3, 4))),
        ("-u root 1000", Settings(user=("root", "1000"))),
        ("-u +7", Settings(user=("7",))),
        ("--device vda /dev/vdb --all-devices", Settings(device=("vda", "/dev/vdb"), all_devices=True)),
        ("--no-gpu --sort io% --reverse", Settings(gpu=False, sort="io%", reverse=True)),
        ("--sort read_bytes_per_s", Settings(sort="read_bytes_per_s")),
        ("--filter [ --ascii --theme light", Settings(filter="[", ascii=True, theme="light")),
        ("--output a.csv --procfs /p --sysfs /s", Settings(output=Path("a.csv"), procfs=Path("/p"), sysfs=Path("/s"))),
    ],
)
def test_options_of_the_dashboard(calls: list[Call], words: str, settings: Settings) -> None:
    assert cli.run(words.split()) == 0
    assert calls == [("dashboard", settings, "")]


@pytest.mark.parametrize(
    ("words", "settings", "output_format"),
    [
        ("-b", Settings(), "text"),
        ("--batch --format json -n 2", Settings(iter=2), "json"),
        ("--once --format csv", Settings(iter=1), "csv"),
        ("-qq", Settings(quiet=2), "text"),
        ("-q -q -q", Settings(quiet=3), "text"),
        ("-t", Settings(time=True), "text"),
    ],
)
def test_options_of_batch(calls: list[Call], words: str, settings: Settings, output_format: str) -> None:
    assert cli.run(words.split()) == 0
    assert calls == [("batch", settings, output_format)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-d 0", "'0' is no delay: give seconds, from 0.1 to 86400"),
        ("-d 1e9", "'1e9' is no delay: give seconds, from 0.1 to 86400"),
        ("--theme nope", "there is no theme 'nope'; the themes are dark, light, high-contrast"),
        ("-p 2147483648", "is no process id: give a whole number from 1 to 2147483647"),
        ("-u 4294967296", "is no user id: give a whole number from 0 to 4294967294"),
        ("-u -5", "is no user id"),
        ("-n 1000000000000000000", "no whole number from 1 to 999999999999999999"),
        ("doctor --for 0", "give seconds, more than 0 and at most 86400"),
        ("doctor --for 1e9", "give seconds, more than 0 and at most 86400"),
        ("doctor --for nan", "is no time to watch"),
        ("-d 0.09", "is no delay"),
        ("-d -1", "is no delay|expected one argument"),
        ("-d nan", "is no delay"),
        ("-d inf", "is no delay"),
        ("-d 1e400", "is no delay"),
        ("-d abc", "'abc' is no delay"),
        ("-d", "expected one argument"),
        ("-n 0", "no whole number"),
        ("-n 1.5", "no whole number"),
        ("-n ٣", "no whole number"),
        ("-p", "expected at least one argument"),
        ("-p 0", "'0' is no process id"),
        ("-p 1 two", "'two' is no process id"),
        ("-p 99999999999999999999", "is no process id"),
        ("-u no-such-user-here", "there is no user 'no-such-user-here'"),
        ("--sort reed", "there is no column 'reed'; do you mean READ"),
        ("--sort xyzzy", "there is no column 'xyzzy'; the columns are PID, TID"),
        ("--format xml -b", "invalid choice: 'xml'"),
        ("--format json", "--format needs -b"),
        ("--bat", "unrecognized arguments: --bat"),
        ("--nonsense", "unrecognized arguments: --nonsense"),
        ("iotpo", "there is no command 'iotpo'; do you mean iotop"),
        ("xyzzy", "there is no command 'xyzzy'"),
        ("-b extra", "unrecognized arguments: extra"),
        ("snapshot --nope", "unrecognized arguments"),
        ("iotop -b -d x", "'x' is no delay"),
        ("iostat -x 1 0", "count: '0' is no whole number from 1"),
        (f"iostat 1 {'9' * 5000}", "no whole number from 1"),
        ("iostat 0 3", "a count needs an interval"),
        ("iostat 100000", "is no interval: give seconds, from 0.1 to 86400"),
        ("iostat --dec=3", "give --dec=0, --dec=1 or --dec=2"),
        ("iostat --foo", "there is no option --foo"),
        ("iostat -Q", "there is no option -Q"),
        ("iostat -o XML", "only JSON"),
        ("iostat -H", "-H needs -g"),
        ("iostat -g grp", "needs devices"),
        ("iostat -xg", "-g needs a value"),
        ("iostat -gx grp vda", "comes last"),
        ("iostat 1 2 3", "one number too many"),
        ("iostat 0.01", "is no interval"),
        ("dstat --integer --float", "not allowed with"),
        ("dstat 0", "is no delay"),
        ("dstat 1 x", "no whole number"),
        ("dstat --nfs", "unrecognized arguments: --nfs"),
        ("dstat -S swap1", "only their total is known"),
        ("where", "required"),
    ],
)
def test_wrong_usage_is_one_clear_line(calls: list[Call], words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        cli.run(words.split())
    assert "\n" not in str(caught.value)
    assert calls == []


@pytest.mark.parametrize(
    "words",
    ["iotop --nope", "iotop -b -Z", "iostat -Z", "dstat --top-cpu", "doctor x", "where / --nope", "snapshot -Z"],
)
def test_what_a_command_does_not_know_names_the_help_of_that_command(calls: list[Call], words: str) -> None:
    command = words.split()[0]
    with pytest.raises(UsageError, match=rf"\(see iodash {command} --help\)$"):
        cli.run(words.split())
    assert calls == []


def test_the_configuration_file_gives_the_defaults(calls: list[Call], tmp_path: Path) -> None:
    (tmp_path / "iodash").mkdir()
    (tmp_path / "iodash" / "config.toml").write_text("delay = 5\npid = [7]\ntime = true\nonly = true\n")
    cli.run(["-d", "2"])
    cli.run(["-p", "1"])
    assert calls == [
        ("dashboard", Settings(delay=2.0, pid=(7,), time=True, only=True), ""),
        ("dashboard", Settings(delay=5.0, pid=(1,), time=True, only=True), ""),
    ]


def test_iotop_without_batch_opens_the_screen_with_the_processes(calls: list[Call]) -> None:
    assert cli.run(["iotop", "-o", "-d", "2"]) == 0
    assert calls == [("dashboard", Settings(only=True, delay=2.0, processes_only=True), "")]


def iostat(**values: object) -> Layout:
    return Layout(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("", Request(Layout())),
        ("-x 2 3", Request(iostat(extended=True), 2.0, 3)),
        ("-x /dev/nvme0n1 2", Request(iostat(extended=True, devices=("nvme0n1",)), 2.0)),
        ("-dx vda 1 ALL", Request(iostat(cpu=False, extended=True, devices=("vda", ALL)), 1.0)),
        ("-c", Request(iostat(disk=False))),
        ("-cd", Request(iostat())),
        ("-p 2 3", Request(iostat(partitions=()), 2.0, 3)),
        ("-p vda,vdb 1", Request(iostat(partitions=("vda", "vdb")), 1.0)),
        ("-p ALL", Request(iostat(partitions=(ALL,)))),
        ("-xp", Request(iostat(extended=True, partitions=(ALL,)))),
        ("-dxy -p ALL 2 1", Request(iostat(cpu=False, extended=True, partitions=(ALL,)), 2.0, 1, since_boot=False)),
        ("-y", Request(iostat(), since_boot=True)),
        ("-kmzstN", Request(iostat(megabytes=True, only_active=True, short=True, timestamp=True, labels=True))),
        ("-h --compact --dec=1", Request(iostat(human=True, pretty=True, compact=True, decimals=1))),
        ("-o JSON 1 2", Request(iostat(), 1.0, 2, json=True)),
        ("-g both vda vdb 2", Request(iostat(groups=(("both", ("vda", "vdb")),)), 2.0)),
        ("-xg both vdb vda 2", Request(iostat(extended=True, groups=(("both", ("vdb", "vda")),)), 2.0)),
        ("-dg all ALL", Request(iostat(cpu=False, groups=(("all", (ALL,)),)))),
        ("-H -g one vda", Request(iostat(groups=(("one", ("vda",)),), only_groups=True))),
        ("0", Request(iostat())),
    ],
)
def test_iostats_words_are_read_as_iostat_reads_them(words: str, request_: Request) -> None:
    assert parse(words.split()) == request_


def test_a_link_below_dev_is_followed_to_the_kernels_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dm-7").touch()
    link = tmp_path / "data"
    link.symlink_to("dm-7")
    monkeypatch.setattr(
        "iodash.commands.iostat_words.Path", lambda word: link if word == "/dev/mapper/data" else Path(word)
    )
    assert parse(["/dev/mapper/data"]).layout.devices == ("dm-7",)
