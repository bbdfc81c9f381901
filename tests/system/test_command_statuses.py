"""The real `iodash` command: exit statuses, what goes to which stream, signals, closed pipes, odd surroundings."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO, Any

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
IODASH = [sys.executable, "-m", "iodash"]


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return kept | {"PYTHONPATH": str(ROOT / "app")} | extra


def iodash(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options.setdefault("env", environment())
    options.setdefault("stdin", subprocess.DEVNULL)
    if "stdout" not in options:
        options["stdout"] = subprocess.PIPE
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([*IODASH, *arguments], text=True, timeout=60, check=False, **options)


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    options.setdefault("env", environment())
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(
        [*IODASH, *arguments], text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **options
    )


def error_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stderr.startswith("iodash: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    "arguments", [["--version"], ["-b", "--version"], ["iotop", "--version"], ["dstat", "--version"]]
)
def test_the_version(arguments: list[str]) -> None:
    done = iodash(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"iodash \d+\.\d+\.\d+\n", done.stdout)


COMMANDS = [[], ["iotop"], ["iostat"], ["dstat"], ["doctor"], ["where"], ["snapshot"]]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: list[str], encoding: str) -> None:
    done = iodash(*command, "--help", env=environment(PYTHONIOENCODING=encoding))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: iodash")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-b", "--once", "--no-gpu"]])
def test_printing_never_imports_the_screen(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom iodash.__main__ import main\nstatus = main(sys.argv[1:])\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('textual', 'rich', 'plotext', 'pynvml')],"
        " file=sys.stderr)\nsys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


WRONG = [
    *("-d nan", "-d inf", "-d 0", "-d", "-n 0", "-n x", "-p", "-p x", "-u no-such-user", "--sort nonsense", "--nope"),
    *("--format xml", "--format json", "nonsense", "-b surplus", "--bat", "iotop -d x", "iostat --nope", "iostat 1 0"),
    *("iostat -o XML", "dstat 0", "dstat --nope", "dstat 1 2 3", "where", "where --format x /", "snapshot x", "-b -d"),
    *("--theme nope", "iotop --theme nope", "-d 1e9", "-n 1e3", "-n -1", "doctor --for nan", "doctor --for 1e9"),
    *("iostat 0.01", "iostat 1 0", "iostat --dec=3", "dstat inf", "dstat 1 -1", "-u -5"),
    *("iostat -g", "iostat -p vda -H", "dstat --output", "-b --output", "iotop -p -5", "dstat --float --integer"),
]


@pytest.mark.parametrize("words", WRONG)
def test_wrong_usage_is_status_2_and_one_line(words: str) -> None:
    done = iodash(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    error_line(done)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "use `iodash -b`"),
        ("iotop", "use `iodash -b`"),
        ("-b --procfs /nonexistent", "/nonexistent is no proc tree"),
        ("-b --procfs /usr", "/usr is no proc tree"),
        ("-b --procfs /dev/null", "is no proc tree"),
        ("iostat --procfs /usr", "/usr is no proc tree"),
        ("dstat --procfs /usr", "/usr is no proc tree"),
        ("snapshot --procfs /usr", "/usr is no proc tree"),
        ("-b --sysfs /nonexistent", "/nonexistent is no directory: --sysfs"),
        ("-b --sysfs /dev/null", "/dev/null is no directory: --sysfs"),
        ("iotop -b --sysfs /nonexistent", "/nonexistent is no directory"),
        ("iostat --sysfs /nonexistent", "/nonexistent is no directory"),
        ("dstat --sysfs /nonexistent", "/nonexistent is no directory"),
        ("doctor --sysfs /nonexistent", "/nonexistent is no directory"),
        ("snapshot --sysfs /nonexistent", "/nonexistent is no directory"),
        ("where --sysfs /nonexistent /", "/nonexistent is no directory"),
        ("where --procfs /nonexistent /", "/nonexistent is no proc tree"),
        ("doctor --procfs /usr", "/usr is no proc tree"),
        ("-b --output /nonexistent/x.csv", "No such file or directory; make its folder first"),
        ("dstat --output /nonexistent/x.csv", "No such file or directory; make its folder first"),
        ("-b --output /", "Is a directory; name a file in it"),
        ("-b --output /dev/null/x.csv", "Not a directory; one of its folders is a file"),
        ("snapshot -d 600 -o /nonexistent/x", "No such file or directory; make its folder first"),
        ("-b --once -d 0.1 --no-gpu --output /dev/full", "cannot write /dev/full: No space left"),
        ("-b --once -d 0.1 --no-gpu --format json --output /dev/full", "cannot write /dev/full: No space left"),
        ("-b --once -d 0.1 --no-gpu --format csv --output /dev/full", "cannot write /dev/full: No space left"),
        ("iotop -b -n 1 -d 0.1 --output /dev/full", "cannot write /dev/full: No space left"),
        ("dstat --output /dev/full 0.1 1", "cannot write /dev/full: No space left"),
        ("snapshot -o /", "is no file name"),
        ("where /nonexistent", "look whether it is spelt right and mounted here"),
    ],
)
def test_what_cannot_be_done_is_status_1_and_one_line(words: str, message: str) -> None:
    done = iodash(*words.split())
    assert done.returncode == 1
    assert message in error_line(done)


def test_frames_as_json() -> None:
    done = iodash("-b", "-n", "3", "-d", "0.2", "--format", "json", "--no-gpu")
    assert (done.returncode, done.stderr) == (0, "")
    parsed = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(parsed) == 3
    assert all(frame["interval_s"] > 0.15 for frame in parsed)
    assert any(row["pid"] == os.getpid() for row in parsed[0]["processes"])


def test_frames_as_csv_beside_text(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    done = iodash("-b", "-n", "2", "-d", "0.2", "--no-gpu", "--output", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("CPU us ")
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream, strict=True))
    assert len(rows) == 2
    assert float(rows[0]["memory_total_bytes"]) > 0
    again = iodash("-b", "-n", "1", "-d", "0.1", "--no-gpu", "--format", "csv", "--device", "no-such")
    assert len(list(csv.reader(again.stdout.splitlines()))) == 2


def test_a_csv_file_with_another_header_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n1,2\n")
    done = iodash("-b", "--once", "-d", "0.1", "--no-gpu", "--output", str(file))
    assert done.returncode == 1
    assert "its header differs" in error_line(done)
    assert file.read_text() == "a,b\n1,2\n"


def test_what_is_not_there_leaves_the_table_empty() -> None:
    done = iodash("-b", "--once", "-d", "0.1", "--no-gpu", "-p", "4194000", "--device", "no-such")
    assert done.returncode == 0
    assert done.stderr == "iodash: there is no process 4194000 and no device no-such\n"
    assert not re.search(r"^\d", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "stderr"),
    [
        ("iotop -b -n 1 -d 0.1 -p 4194000", "iodash: there is no process 4194000\n"),
        ("iotop -b -n 1 -d 0.1 -p 4194000 4194001", "iodash: there are no processes 4194000, 4194001\n"),
        ("doctor --no-gpu --for 0.1 -d 0.1 -p 4194000,4194001", "iodash: there are no processes 4194000, 4194001\n"),
        ("iostat -x /dev/no-such 0.1 2", "iodash: there is no device no-such\n"),
        ("iostat -o JSON nope none", "iodash: there are no devices nope, none\n"),
        ("dstat -dc -D no-such,none -C 99999 0.1 2", "iodash: there are no devices no-such, none and no CPU 99999\n"),
        ("dstat -d -D no-such 0.1 2", "iodash: there is no device no-such\n"),
    ],
)
def test_one_line_of_every_command_names_it_all(words: str, stderr: str) -> None:
    done = iodash(*words.split())
    assert (done.returncode, done.stderr) == (0, stderr)


def test_an_empty_sys_tree_will_do(tmp_path: Path) -> None:
    done = iodash("-b", "--once", "-d", "0.1", "--no-gpu", "--sysfs", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "NOTE " in done.stdout


def test_dstat_appends_to_its_own_files_and_to_no_others(tmp_path: Path) -> None:
    own, foreign = tmp_path / "own.csv", tmp_path / "foreign.csv"
    own.write_text('"Dstat 0.8.0 CSV output"\n"Author:","Dag Wieers",,,,"URL:",""\n')
    foreign.write_text("a,b\n1,2\n")
    done = iodash("dstat", "--output", str(own), "0.1", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert own.read_text().startswith('"Dstat 0.8.0 CSV output"\n"Author:","Dag Wieers",,,,"URL:",""\n\n\n"Host:",')
    again = iodash("dstat", "--output", str(foreign), "0.1", "1")
    assert (again.returncode, again.stdout) == (1, "")
    assert "foreign.csv: it is no CSV file of dstat's" in error_line(again)
    assert foreign.read_text() == "a,b\n1,2\n"


def test_csv_goes_into_a_pipe_too() -> None:
    reader, writer = os.pipe()
    done = iodash("dstat", "--output", f"/dev/fd/{writer}", "0.1", "1", pass_fds=[writer])
    os.close(writer)
    with os.fdopen(reader) as stream:
        written = stream.read()
    assert (done.returncode, done.stderr) == (0, "")
    assert written.startswith('"Dstat ')


def test_a_closed_pipe_ends_quietly() -> None:
    for arguments in (
        ["-b"],
        ["-b", "--format", "json"],
        ["-b", "--format", "csv"],
        ["iostat", "0.1"],
        ["dstat", "0.1"],
    ):
        running = start(*arguments, *(["-d", "0.1", "--no-gpu"] if arguments[0] == "-b" else []))
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.wait(30) == 0
        assert running.stderr.read() == ""
        running.stderr.close()


QUICK = ("-d", "0.1", "--no-gpu")
PRINTING = [
    *([*command, "--help"] for command in COMMANDS),
    *(["--version"], ["iotop", "--version"], ["iostat", "-V"], ["dstat", "--version"], ["where", "/"]),
    *(["-b", "--format", form, *QUICK] for form in ("text", "json", "csv")),
    *(["iotop", "-b", *QUICK], ["iostat"], ["iostat", "-o", "JSON"], ["dstat", "0.1"]),
    *(["doctor", "--for", "0.1", *QUICK], ["doctor", "--for", "0.1", "--format", "json", *QUICK]),
]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_pipe_that_is_closed_from_the_start(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = iodash(*arguments, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_filter_that_is_searched_literally_says_so() -> None:
    done = iodash("-b", "--once", "--no-gpu", "--filter", "[", "-d", "0.1")
    assert done.returncode == 0
    assert error_line(done) == "iodash: the filter is searched literally: it is no valid regular expression\n"


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
    ids=["INT", "TERM", "HUP", "QUIT"],
)
@pytest.mark.parametrize("arguments", [["-b", "--no-gpu"], ["iostat", "1"], ["dstat", "1"], ["iotop", "-b"]])
def test_signals_end_it_at_once(arguments: list[str], number: signal.Signals, status: int) -> None:
    running = start(*arguments)
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(number)
    started = time.monotonic()
    _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (status, "")
    assert time.monotonic() - started < 10


def wait_until_its_pipe_is_full(running: subprocess.Popen[str]) -> None:
    state = Path(f"/proc/{running.pid}/wchan")
    for _ in range(300):
        if "pipe_write" in state.read_text():
            break
        time.sleep(0.1)


def test_a_signal_ends_a_write_that_nobody_reads() -> None:
    reader, writer = os.pipe()
    running = start("-b", "-d", "0.1", "--format", "json", "--no-gpu", stdout=writer)
    os.close(writer)
    os.read(reader, 1)
    wait_until_its_pipe_is_full(running)
    running.terminate()
    _, errors = running.communicate(timeout=30)
    os.close(reader)
    assert (running.returncode, errors) == (143, "")


def test_an_interrupted_line_is_finished_while_somebody_reads() -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    running = start("-b", "-d", "0.1", "--format", "json", "--no-gpu", stdout=writer)
    os.close(writer)
    os.read(reader, 1)
    wait_until_its_pipe_is_full(running)
    running.send_signal(signal.SIGINT)
    with os.fdopen(reader) as stream:
        *_, last = stream.read().splitlines(keepends=True)
    _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (130, "")
    assert last.endswith("}\n")


def test_an_interrupted_doctor_says_nothing() -> None:
    running = start("doctor", "--for", "600", *QUICK)
    for _ in range(300):
        if "SigCgt" in (status := Path(f"/proc/{running.pid}/status").read_text()) and _catches(status, signal.SIGTERM):
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    written, errors = running.communicate(timeout=30)
    assert (running.returncode, written, errors) == (130, "", "")


def _catches(status: str, number: signal.Signals) -> bool:
    """Whether a process handles a signal by itself (proc(5), SigCgt)."""
    mask = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(mask >> (number - 1) & 1)


def test_interrupted_json_of_iostat_is_valid() -> None:
    running = start("iostat", "-o", "JSON", "0.2")
    assert running.stdout is not None
    text = "".join(running.stdout.readline() for _ in range(14))
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    running.communicate(timeout=30)
    assert json.loads(text + rest)["sysstat"]["hosts"][0]["statistics"]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_full_disk_behind_standard_output_is_status_1(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = iodash(*arguments, stdout=full)
    assert done.returncode == 1
    assert (
        error_line(done)
        == "iodash: cannot write to standard output: No space left on device; make room, or choose a place with room\n"
    )


def test_a_full_disk_behind_a_snapshot_is_status_1(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = iodash("snapshot", *QUICK, "-o", "x", cwd=tmp_path, stdout=full)
    assert done.returncode == 1
    assert "No space left" in error_line(done)


@pytest.mark.parametrize(
    ("words", "status"),
    [("-d nan", 2), ("-b --procfs /usr", 1), ("where /nonexistent", 1), ("-b --once -d 0.1 --no-gpu -p 4194000", 0)],
)
def test_what_nobody_can_be_told_changes_no_status(words: str, status: int) -> None:
    with open("/dev/full", "w") as full:
        assert iodash(*words.split(), stderr=full).returncode == status


def _run_closed(script: str) -> subprocess.CompletedProcess[str]:
    command = script.replace("IODASH", f"{sys.executable} -m iodash")
    return subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, text=True, check=False)


def test_closed_descriptors_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    assert _run_closed("IODASH --version <&- >&- 2>&-").returncode == 1
    assert _run_closed("IODASH -b --once -d 0.1 --no-gpu <&-").stdout.startswith("CPU us ")
    assert _run_closed("IODASH -d nan 2>&-").returncode == 2
    done = _run_closed("IODASH -b --once -d 0.1 --no-gpu >&-")
    assert done.returncode == 1
    assert done.stderr == "iodash: cannot write to standard output: it is closed; redirect it to a file or /dev/null\n"
    done = _run_closed(f"IODASH dstat --output {file} 0.1 2 >&-")
    assert done.returncode == 1


def test_nobody_needs_a_home_or_a_terminal_type(tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "app")}
    done = iodash("-b", "--once", "-d", "0.1", "--no-gpu", env=bare, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")


def test_latin_1_gets_escapes_instead_of_an_error(tmp_path: Path) -> None:
    program = tmp_path / "训练"
    shutil.copy("/bin/sleep", program)
    sleeper = subprocess.Popen([str(program), "60"])
    try:
        done = iodash(
            *("-b", "--once", "-d", "0.1", "--no-gpu", "-p", str(sleeper.pid), "--format", "text"),
            env=environment(PYTHONIOENCODING="latin-1"),
        )
    finally:
        sleeper.kill()
        sleeper.wait()
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u8bad\\u7ec3 60" in done.stdout
    where = iodash("where", "/", env=environment(PYTHONIOENCODING="latin-1"))
    assert (where.returncode, where.stderr) == (0, "")
    assert "\\u2192" in where.stdout


def test_a_broken_configuration_is_one_line_and_ignored(tmp_path: Path) -> None:
    (tmp_path / "iodash").mkdir()
    (tmp_path / "iodash" / "config.toml").write_text("delay = 0.1\nnonsense = 3\n")
    done = iodash("-b", "--once", "--no-gpu", env=environment(XDG_CONFIG_HOME=str(tmp_path)))
    assert done.returncode == 0
    assert "unknown key 'nonsense'; the keys are delay" in error_line(done)


@pytest.mark.parametrize("arguments", [("-b", "--once"), ("doctor", "--for", "0.2"), ("where", "/"), ("snapshot",)])
def test_every_command_of_its_own_obeys_the_configuration(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "iodash").mkdir()
    (tmp_path / "iodash" / "config.toml").write_text('procfs = "/nowhere"\n')
    done = iodash(*arguments, env=environment(XDG_CONFIG_HOME=str(tmp_path)), cwd=tmp_path)
    assert done.returncode == 1
    assert "/nowhere is no proc tree" in error_line(done)


def test_a_snapshot_names_its_files(tmp_path: Path) -> None:
    done = iodash("snapshot", "-d", "0.1", "--no-gpu", "-o", "run.json", cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "run.json\nrun.txt\n")
    frame = json.loads((tmp_path / "run.json").read_text())
    assert frame["schema"] == "iodash.frame/1"
    again = iodash("snapshot", "-d", "0.1", "--no-gpu", "-o", "run", cwd=tmp_path)
    assert again.returncode == 1
    assert "run.json exists" in error_line(again)


def _on_a_terminal(*arguments: str, kind: str = "xterm", columns: int = 0) -> tuple[bytes, int]:
    """What a command writes to a terminal of its own, and its status."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    running = subprocess.Popen(
        [*IODASH, *arguments], env=environment(TERM=kind), stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    written = b""
    stream: IO[bytes]
    with os.fdopen(leader, "rb", buffering=0) as stream:
        while True:
            try:
                block = stream.read(65536)
            except OSError:
                break
            if not block:
                break
            written += block
    return written, running.wait(30)


def test_printing_sends_no_escape_sequence_even_to_a_terminal() -> None:
    for arguments in (["-b", "--once", "-d", "0.1", "--no-gpu"], ["iostat"], ["dstat", "0.1", "2"]):
        written, status = _on_a_terminal(*arguments)
        assert status == 0
        assert b"\x1b" not in written


def test_an_unknown_theme_is_wrong_usage_and_names_those_there_are() -> None:
    done = iodash("--theme", "nonsense", "--no-gpu")
    assert done.returncode == 2
    assert error_line(done).startswith("iodash: --theme: there is no theme 'nonsense'; the themes are dark, light")


@pytest.mark.parametrize("kind", ["dumb", "", "unknown"])
def test_a_terminal_that_draws_no_screen_is_refused(kind: str) -> None:
    written, status = _on_a_terminal("--no-gpu", kind=kind)
    assert status == 1
    assert written.startswith(b"iodash: ")
    assert b"use `iodash -b`" in written
    assert b"\x1b" not in written


@pytest.mark.parametrize("command", [["-b", "--once"], ["iotop", "-b", "-n", "1"]])
def test_a_command_line_is_cut_for_a_terminal_and_whole_in_a_pipe(command: list[str]) -> None:
    long = "x" * 300
    sleeper = subprocess.Popen(["sh", "-c", f"read line # {long}"], stdin=subprocess.PIPE)
    try:
        arguments = [*command, *QUICK, "-p", str(sleeper.pid)]
        shown, status = _on_a_terminal(*arguments, columns=100)
        piped = iodash(*arguments)
    finally:
        sleeper.kill()
        sleeper.communicate()
    assert status == 0
    (row,) = [line for line in shown.decode().splitlines() if line.split()[:1] == [str(sleeper.pid)]]
    assert len(row) == 100
    assert row.endswith("x…")
    assert long in piped.stdout
