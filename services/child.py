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
from contextlib import contextmanager


def command(
    program: Sequence[str], end: signal.Signals, user: pwd.struct_passwd | None = None
) -> list[str]:
    """What runs `program` as `user`; on Linux it gets `end` when the thread that started it ends, even when killed."""
    identity = f"{user.pw_uid}:{user.pw_gid}" if user else ""
    us = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(end)), identity]
    return [*us, *program]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Around starting a program and keeping its process: a signal to end in between would lose it. It comes after."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda one, _: came.append(one)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for signalled in came:
        signal.raise_signal(signalled)


def _become(parent: int, end: int, identity: str, program: list[str]) -> None:
    if identity:
        uid, gid = map(int, identity.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        # As Python has it; a program expects to be as it would be from a shell.
        signal.signal(ignored, signal.SIG_DFL)
    if sys.platform == "linux":
        # After the change of user, which takes it back (prctl(2)).
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, end)
        if os.getppid() != parent:
            sys.exit("the parent has ended")
    os.execv(program[0], program)


if __name__ == "__main__":
    _become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
