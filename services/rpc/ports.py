"""A port for a server that is yet to start."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_address() -> Iterator[str]:
    """127.0.0.1 and a free port. While the block runs nobody gets it by asking for any, yet a server of ours may listen
    there: gRPC asks for SO_REUSEADDR, with which Linux shares a port that nobody listens on (socket(7)).

    On other systems the port is free when the block begins, and anybody's then.
    """
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        host, port = reserved.getsockname()
        if sys.platform != "linux":
            reserved.close()
        yield f"{host}:{port}"
