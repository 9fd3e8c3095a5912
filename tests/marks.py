"""Marks every test by what it uses, so that `-m` selects by facts: server, postgres, model, process.

What a test uses is read from the code that it reaches: its own, its fixtures', and the tests' functions and classes
that these name. A test that starts a server all the same, unseen, fails and says so.
"""

import asyncio
import contextlib
import functools
import http.server
import inspect
import socket
import socketserver
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import grpc
import pytest

from services.minilm.model import MiniLM
from services.postgres.embedded import EmbeddedPostgres
from services.retriever.parsing.pool import ParserPool
from services.rpc import serve
from services.rpc import testing as rpc_testing
from services.suite import Suite

MARKS: dict[str, list[object]] = {
    "server": [
        serve.start,
        rpc_testing.running,
        grpc.server,
        grpc.aio.server,
        asyncio.start_server,
        socket.create_server,
        http.server.ThreadingHTTPServer,
        socketserver.TCPServer,
        Suite,
    ],
    "postgres": [EmbeddedPostgres, Suite],
    "model": [MiniLM, Suite],
    # Who names the interpreter runs something with it.
    "process": [ParserPool, sys.executable, Suite],
}
ANY = "integration"


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _named(function: FunctionType, owner: type | None) -> Iterator[object]:
    """What a function names: globals, what it closes over, and members of modules and of the class it stands in."""
    for code in _codes(function.__code__):
        for name in code.co_names:
            found = function.__globals__.get(name)
            yield found
            yield getattr(owner, name, None)
            if isinstance(found, ModuleType):
                yield from (vars(found).get(member) for member in code.co_names)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not filled yet
            yield cell.cell_contents


def _is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).split(".")[0] == "tests"


@functools.cache
def reached(function: Callable[..., Any], owner: type | None = None) -> frozenset[str]:
    """The marks of all that a test or a fixture can reach through the tests' own code; `owner`: the test's class."""
    marks: set[str] = set()
    seen: set[int] = set()
    left: list[object] = [function]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        # Below a function is replaced by one that watches it.
        itself = (one, getattr(one, "__wrapped__", one))
        hits = {mark for mark, roots in MARKS.items() if any(r is o for r in roots for o in itself)}
        marks |= hits
        if hits or not _is_ours(one):
            continue
        if inspect.isclass(one):
            left += [
                member for kind in one.__mro__ if _is_ours(kind) for member in vars(kind).values()
            ]
            continue
        plain = inspect.unwrap(getattr(one, "__func__", one))  # type: ignore[arg-type]
        if isinstance(plain, FunctionType):
            left += _named(plain, owner)
    return frozenset(marks)


def pytest_itemcollected(item: pytest.Item) -> None:
    if not isinstance(item, pytest.Function):
        return
    fixtures = item._fixtureinfo.name2fixturedefs
    functions = [
        item.obj,
        *(each.func for name in item.fixturenames for each in fixtures.get(name, ())),
    ]
    found = (reached(getattr(one, "__func__", one), item.cls) for one in functions)
    marks = set[str]().union(*found)
    for mark in sorted(marks | ({ANY} if marks else set())):
        item.add_marker(mark)


_running: pytest.Item | None = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _running
    _running = item
    try:
        return (yield)
    finally:
        _running = None


def _watched(start: Callable[..., Any], what: str) -> Callable[..., Any]:
    """The same function; inside a test without the mark it fails."""

    @functools.wraps(start)
    def watched(*arguments: Any, **options: Any) -> Any:
        if _running is not None and _running.get_closest_marker("server") is None:
            raise AssertionError(f"this test starts {what}: mark it with pytest.mark.server")
        return start(*arguments, **options)

    return watched


def pytest_configure() -> None:
    grpc.server = _watched(grpc.server, "a gRPC server")
    grpc.aio.server = _watched(grpc.aio.server, "a gRPC server")
    socket.socket.listen = _watched(socket.socket.listen, "a server")  # type: ignore[method-assign]
