"""Starts a program that ends with us: `Popen(command(program))`.

Python's own ways to prepare a child (`preexec_fn`, `user`) fork this process, and a fork of a process with gRPC's
threads dies now and then before it becomes the program. So a small Python prepares itself and becomes the program.
"""

import ctypes
import os
import pwd
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager


def command(
    program: Sequence[str], end: signal.Signals, user: pwd.struct_passwd | None = None
) -> list[str]:
    """What runs `program` as `user`; on Linux it gets `end` when the thread that started it ends, even when killed."""
    identity = f"{user.pw_uid}:{user.pw_gid}" if user else ""
    us = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(end)), identity]
    return [*us, *program]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Around what a signal to end must not cut short, e.g. starting a program and keeping its process: it comes after.

    Only the main thread gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def again() -> None:
        for number in came:
            signal.raise_signal(number)

    # Each callback runs, the last one first, even if a handler raises as soon as it is back.
    with ExitStack() as after:
        after.callback(again)
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.signal(number, lambda number, _: came.append(number))
            after.callback(signal.signal, number, handler)
        yield


def _become(parent: int, end: int, identity: str, program: list[str]) -> None:
    if identity:
        uid, gid = map(int, identity.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # A program expects these as they are from a shell. Python ignores two, and a Ctrl-C that it has only noted would be
    # forgotten with it.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        # After the change of user, which takes it back (prctl(2)).
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, end)
        if os.getppid() != parent:
            sys.exit("the parent has ended")
    os.execv(program[0], program)


if __name__ == "__main__":
    _become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
