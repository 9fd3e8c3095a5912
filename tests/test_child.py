"""Programs that we start end with us, and start as from a shell."""

import os
import pwd
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import grpc
import pytest

from services import child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_no_signal_is_ignored_in_a_program() -> None:
    command = child.command(["/bin/grep", "SigIgn", "/proc/self/status"], end=signal.SIGTERM)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # Of the signals that have names: what make starts, by posix_spawn, inherits the C library's own ones as ignored.
    assert int(said.split()[1], 16) & (1 << 31) - 1 == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_program_runs_as_another_user() -> None:
    command = child.command(["/usr/bin/id"], end=signal.SIGTERM, user=pwd.getpwnam("nobody"))
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("uid=65534(nobody)")
    assert "root" not in said


def test_a_program_ends_when_its_parent_is_killed() -> None:
    parent = textwrap.dedent(
        """
        import signal, subprocess, sys
        from services import child
        command = child.command(["/bin/sh", "-c", "echo $$; exec sleep 600"], end=signal.SIGTERM)
        subprocess.Popen(command)
        signal.pause()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[1],
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
        # Its end closes the pipe that it had from its parent.
        assert process.stdout.read() == b""


def test_a_signal_while_a_program_starts_comes_when_its_process_is_kept() -> None:
    kept = []

    def start() -> None:
        with child.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            kept.append(subprocess.Popen(child.command(["/bin/true"], end=signal.SIGTERM)))

    with pytest.raises(KeyboardInterrupt):
        start()
    assert [process.wait() for process in kept] == [0]


@pytest.mark.slow
async def test_programs_start_beside_a_channel_of_grpc() -> None:
    """A forked child of such a process died in 1 of 60 starts, before it was the program."""
    async with grpc.aio.insecure_channel("localhost:1"):
        for _ in range(300):
            command = child.command(["/bin/true"], end=signal.SIGTERM)
            done = subprocess.run(command, capture_output=True, check=False)  # noqa: ASYNC221
            assert (done.returncode, done.stderr) == (0, b"")
