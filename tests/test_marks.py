"""Marks are facts: what a test reaches is seen, and what is not seen is refused."""

import socket
from collections.abc import Callable

import grpc
import pytest

from services.minilm.model import MiniLM
from services.postgres.embedded import EmbeddedPostgres
from services.rpc.testing import running
from tests.marks import reached


def names_a_server() -> object:
    return running


class Helper:
    def method(self) -> object:
        def inner() -> object:
            return MiniLM.load()

        return inner


def by_a_helper() -> object:
    return Helper()


def by_a_module() -> object:
    return grpc.aio.server()


def closes_over(value: object) -> Callable[[], object]:
    def inner() -> object:
        return value

    return inner


class Tests:
    def helper(self) -> object:
        return running

    def by_its_class(self) -> object:
        return self.helper()


def nothing() -> str:
    return "running"


@pytest.mark.parametrize(
    ("function", "marks"),
    [
        (names_a_server, {"server"}),
        (by_a_helper, {"model"}),
        (by_a_module, {"server"}),
        (closes_over(EmbeddedPostgres), {"postgres"}),
        (Tests().by_its_class, {"server"}),
        (nothing, set()),
    ],
)
def test_what_a_function_reaches_is_its_mark(
    function: Callable[[], object], marks: set[str]
) -> None:
    assert reached(function, Tests) == marks


def test_a_test_carries_the_marks_of_its_fixtures(request: pytest.FixtureRequest) -> None:
    """This very one uses none; `postgres` is a fixture that does."""
    assert not {mark.name for mark in request.node.iter_markers()}
    fixture = request.session._fixturemanager.getfixturedefs("postgres", request.node)
    assert fixture
    assert reached(fixture[-1].func) == {"postgres"}


def test_a_server_in_a_test_without_the_mark_is_refused() -> None:
    with socket.socket() as unseen, pytest.raises(AssertionError, match=r"pytest\.mark\.server"):
        unseen.listen()
    hidden = vars(grpc.aio)["server"]
    with pytest.raises(AssertionError, match=r"pytest\.mark\.server"):
        hidden()
