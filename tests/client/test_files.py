"""Files with names that a disk can hold and a message or a terminal cannot."""

import os
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from folio import Folio, messages
from folio.cli import show
from folio.cli.files import find, named
from folio.cli.ingest import File, ingest_files, send
from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2


@pytest.fixture
def odd(tmp_path: Path) -> list[Path]:
    """Names with bytes that are no UTF-8, and with an escape sequence."""
    for name in (b"caf\xe9.txt", b"red\x1b[31m.txt"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text")
    return find([tmp_path]).files


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
    for name in ("a.md", "b.xyz", ".hidden.xyz", "~$report.docx"):
        (tmp_path / name).write_text("text")
    found = find([tmp_path, tmp_path / "a.md"])
    assert [path.name for path in found.files] == ["a.md", "a.md"]
    assert [path.name for path in found.others] == ["b.xyz"]


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with a file, a link to it, one to a file elsewhere, and a link to the folder itself."""
    folder = tmp_path / "files"
    (folder / "notes").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("text")
    (folder / "notes" / "a.txt").write_text("text")
    (folder / "b.txt").symlink_to(folder / "notes" / "a.txt")
    (folder / "c.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "again").symlink_to(folder)
    return folder


def test_a_link_leads_to_no_file_outside_the_folder(linked: Path) -> None:
    found = find([linked])
    assert [path.name for path in found.files] == ["b.txt", "a.txt"]
    assert [path.name for path in found.outside] == ["c.txt"]
    assert [path.name for path in find([linked / "c.txt"]).files] == ["c.txt"]


def test_what_is_left_out_is_said(linked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (linked / "d.xyz").write_text("text")
    with Folio("127.0.0.1:1", "folio_key") as folio:
        assert (
            ingest_files(
                folio,
                [linked],
                collection="",
                kind="",
                published_on="",
                title="",
                password="",
                ocr=False,
            )
            == 2
        )
    said = capsys.readouterr().err
    assert "1 link to files outside the folder left out, such as c.txt" in said
    assert "1 file of other kinds left out, such as d.xyz" in said


def test_a_linked_folder_is_named_and_read_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, other = tmp_path / "files", tmp_path / "other"
    for path in (folder, other / "deep"):
        path.mkdir(parents=True)
    (folder / "a.txt").write_text("text")
    (other / "deep" / "b.txt").write_text("text")
    (folder / "linked").symlink_to(other)
    (other / "back").symlink_to(folder)
    (other / "deep" / "round").symlink_to(other)
    (folder / "gone.txt").symlink_to(tmp_path / "nothing.txt")
    found = find([folder])
    assert [path.name for path in found.files] == ["a.txt"]
    assert [path.name for path in found.folders] == ["linked"]
    assert [path.name for path in found.broken] == ["gone.txt"]
    followed = find([folder], follow_links=True)
    assert [str(followed.below[path]) for path in followed.files] == ["a.txt", "linked/deep/b.txt"]
    with Folio("127.0.0.1:1", "folio_key") as folio:
        ingest_files(folio, [folder], **NOTHING)
    said = capsys.readouterr().err
    assert "1 link to folders outside the folder left out, such as" in said
    assert "1 link to nothing left out" in said


NOTHING: dict[str, Any] = {
    "collection": "",
    "kind": "",
    "published_on": "",
    "title": "",
    "password": "",
    "ocr": False,
}


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    return folder


def test_files_of_one_name_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    folder = tree(
        tmp_path / "all",
        "notes.txt",
        "minutes/january.txt",
        "2023/minutes/january.txt",
        "2024/minutes/january.txt",
    )
    found = find([folder])
    assert [(collection, name) for _, collection, name in named(found, "")] == [
        ("minutes", "2023/minutes/january.txt"),
        ("minutes", "2024/minutes/january.txt"),
        ("minutes", "january.txt"),
        ("all", "notes.txt"),
    ]
    assert [name for _, _, name in named(found, "board")] == [
        "2023/minutes/january.txt",
        "2024/minutes/january.txt",
        "minutes/january.txt",
        "notes.txt",
    ]


def test_a_file_that_would_replace_another_of_the_command_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tree(tmp_path, "2023/minutes/january.txt", "2024/minutes/january.txt")
    paths = [folder / "2023" / "minutes", folder / "2024" / "minutes" / "january.txt"]
    with Folio("127.0.0.1:1", "folio_key") as folio:
        assert ingest_files(folio, [*paths, paths[0]], **NOTHING) == 2
    said = capsys.readouterr()
    assert "2024/minutes/january.txt" in said.err
    assert "has the same name in collection minutes" in said.err
    assert said.out.count("UNAVAILABLE") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    failures = find([tmp_path]).failures
    assert [(error.filename, type(error)) for error in failures] == [(str(locked), PermissionError)]


class Parsing(Folio):
    """A client whose server has begun to parse each file."""

    def ingest(self, *_: object, **__: object) -> Iterator[gateway_pb2.IngestResponse]:
        step = gateway_pb2.IngestProgress(step=step_pb2.STEP_PARSE, done=3, total=9)
        yield gateway_pb2.IngestResponse(progress=step)
        time.sleep(0.3)  # A progress bar is drawn ten times a second.


def test_a_step_of_an_ingest_is_shown_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Console(file=StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(show, "console", terminal)
    with Parsing("127.0.0.1:1", "folio_key") as folio:
        send(folio, [File(tmp_path / "a.txt")])
    assert isinstance(terminal.file, StringIO)
    drawn = terminal.file.getvalue()
    assert "a.txt parse" in drawn
    assert "3/9" in drawn


def test_colons_in_a_name_are_no_picture() -> None:
    with show.console.capture() as captured:
        show.console.print("mix 1:100:2.pdf")
    assert captured.get() == "mix 1:100:2.pdf\n"
