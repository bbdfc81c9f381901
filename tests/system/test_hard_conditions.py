"""iodash where little works: a full disk, a storm of processes that live for a moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.system import needs
from tests.system.terminal import IODASH

pytestmark = pytest.mark.system

FILL_AND_SAVE = """
mount -t tmpfs -o size=128k none /mnt && cd /mnt && head -c 128k /dev/zero >fill 2>/dev/null
"$1" snapshot -o frame
echo "status=$?" $(find . -type f)
"""

STORM = """
import os, time
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork() == 0:
        os._exit(0)
    os.wait()
"""


@needs.root()
@needs.namespaces()
def test_a_full_disk_leaves_no_half_snapshot() -> None:
    environment = {**os.environ, "XDG_STATE_HOME": "/mnt/state"}
    command = ["unshare", "--mount", "sh", "-c", FILL_AND_SAVE, "sh", IODASH]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "status=1 ./fill"
    (message,) = done.stderr.splitlines()
    assert message.startswith("iodash: ")


def test_processes_that_live_for_a_moment_break_nothing() -> None:
    """Thousands of processes a second vanish between being listed and being read."""
    storms = [subprocess.Popen([sys.executable, "-S", "-c", STORM]) for _ in range(2)]
    try:
        command = [IODASH, "-b", "--format", "json", "-n", "10", "-d", "0.2"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    finally:
        for storm in storms:
            storm.kill()
            storm.wait()
    assert (done.returncode, done.stderr) == (0, "")
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(frames) == 10
    assert max(frame["system"]["processes_created_per_s"] for frame in frames) > 300
    assert all({storm.pid for storm in storms} <= {row["pid"] for row in frame["processes"]} for frame in frames)
