"""Files with names that a disk can hold and a message or a terminal cannot."""

import os
from pathlib import Path

import pytest

from folio import Folio, messages
from folio.cli import show
from folio.cli.ingest import File, find_files, other_files, send


@pytest.fixture
def odd(tmp_path: Path) -> list[Path]:
    """Names with bytes that are no UTF-8, and with an escape sequence."""
    for name in (b"caf\xe9.txt", b"red\x1b[31m.txt"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text")
    return list(find_files([tmp_path]))


def test_a_name_that_is_no_utf8_is_sent_with_question_marks(odd: list[Path]) -> None:
    data, name = messages.read_file(odd[0], "")
    header, content = messages.ingest_requests(data, name)
    assert (header.header.file_name, content.data) == ("caf?.txt", b"text")


def test_a_title_that_no_message_can_hold_is_refused_before_the_call() -> None:
    with Folio("127.0.0.1:1", "folio_key") as folio, pytest.raises(ValueError, match="surrogate"):
        folio.ingest(b"text", "a.txt", title="\ud800")


def test_a_name_does_not_act_on_the_terminal_and_the_rest_goes_on(odd: list[Path]) -> None:
    with show.console.capture() as captured, Folio("127.0.0.1:1", "folio_key") as folio:
        assert send(folio, [File(path) for path in odd]) == 2
    printed = captured.get()
    assert printed.count("UNAVAILABLE") == 2
    assert "\x1b[31m.txt" not in printed
    printed.encode()


def test_files_of_other_kinds_in_a_folder_are_named_and_hidden_ones_are_not(
    tmp_path: Path,
) -> None:
    for name in ("a.md", "b.xyz", ".hidden.xyz"):
        (tmp_path / name).write_text("text")
    assert [path.name for path in find_files([tmp_path])] == ["a.md"]
    assert [path.name for path in other_files([tmp_path, tmp_path / "a.md"])] == ["b.xyz"]


def test_colons_in_a_name_are_no_picture() -> None:
    with show.console.capture() as captured:
        show.console.print("mix 1:100:2.pdf")
    assert captured.get() == "mix 1:100:2.pdf\n"
