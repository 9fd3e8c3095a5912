"""One peer in its own process, so that a crash costs only its row. Lines of JSON in and out."""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.workloads import read


def main() -> None:
    module, variant, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints is no reply
    peer = importlib.import_module(f"bench.peers.{module}")
    call: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any]
        if "load" in request:
            data = read(Path(request["load"]))
            call = None  # frees the last workload's documents first
            call = peer.prepare(data, variant, threads)
            scores = np.asarray(call(), dtype=np.float64)
            reply = {"error": float(np.abs(scores - data.exact).max())}
        else:
            times: list[float] = []
            end = time.perf_counter() + request["seconds"]
            while not times or time.perf_counter() < end:
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            reply = {"times": times}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
