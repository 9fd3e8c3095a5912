#!/bin/sh
# What `make bench` runs; arguments go to each part (--quick). PYTHON is the environment's own.
# The peers live in an environment of their own, made once by: bench/run.sh --peers (`make bench-peers`)
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}

if [ "${1:-}" = --peers ]; then
    "$python" -m venv build/bench-venv
    exec build/bench-venv/bin/python -m pip install --quiet -r bench/peers.txt
fi
"$python" -m bench.kernel "$@"
"$python" -m bench.service "$@"
