"""Expansion: synonyms from a file, variants from a model, and an honest word about what was left out."""

import json
import os
from pathlib import Path

import pytest

from folio.common.v1 import query_pb2
from services.generator.answers import Usage
from services.generator.expand.model import ModelExpander
from services.generator.expand.synonyms import (
    SynonymExpander,
    SynonymFileError,
    SynonymFolder,
    Synonyms,
)
from services.generator.models import Completion
from services.rpc.deadline import Deadline
from services.rpc.errors import Unavailable

FILE = (
    "- [parental leave, maternity leave, paternity leave]\n- [PTO, paid time off]\n- [C++, cpp]\n"
)
EVERY = (query_pb2.QUERY_KIND_SYNONYMS, query_pb2.QUERY_KIND_MULTI_QUERY, query_pb2.QUERY_KIND_HYDE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "7.yaml").write_text(FILE)
    return tmp_path


def test_every_term_stands_for_every_other(folder: Path) -> None:
    synonyms = Synonyms.read(folder / "7.yaml")
    assert synonyms.variants("Is Maternity Leave paid?", 3) == [
        "Is parental leave paid?",
        "Is paternity leave paid?",
    ]
    assert synonyms.variants("paid time off", 3) == ["PTO"]
    assert synonyms.variants("Is PTO paid?", 3) == ["Is paid time off paid?"]


def test_only_whole_words_count(folder: Path) -> None:
    synonyms = Synonyms.read(folder / "7.yaml")
    assert synonyms.variants("APTOS and cpplib", 3) == []
    assert synonyms.variants("Is C++ fast?", 3) == ["Is cpp fast?"]


BROKEN = {
    "a: 1": "7.yaml:1: expected a list",
    "- [a, b]\n- x": "7.yaml:2: expected a group",
    "- [a, b]\n\n- [only]": "7.yaml:3: a group has 2 to 20",
    "- [a,\n   {b: c}]": "7.yaml:2: expected a word",
    "- [a, A]": "7.yaml:1: the term stands twice",
    "- [a, '']": "7.yaml:1: a term has 1 to 100",
    "- [a, b": "7.yaml:1: not YAML",
    "- [!!python/object:os.system a, b]": "",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_names_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "7.yaml"
    path.write_text(text)
    if not BROKEN[text]:
        assert Synonyms.read(path).groups == (("a", "b"),)
        return
    with pytest.raises(SynonymFileError) as raised:
        Synonyms.read(path)
    assert raised.value.message.startswith(BROKEN[text])


def test_a_change_is_read_and_a_bad_one_keeps_the_last_good(folder: Path) -> None:
    files = SynonymFolder(folder)
    path = folder / "7.yaml"
    assert len(files.of(7)[0].groups) == 3
    path.write_text("- [a, b]")
    os.utime(path, ns=(1, 1))
    assert files.of(7) == (Synonyms((("a", "b"),)), "")
    path.write_text("- broken")
    os.utime(path, ns=(2, 2))
    kept, problem = files.of(7)
    assert kept == Synonyms((("a", "b"),))
    assert problem.startswith("7.yaml:1:")
    path.unlink()
    assert files.of(7) == (Synonyms(), "")


async def test_each_organization_has_its_own(folder: Path) -> None:
    expander = SynonymExpander(SynonymFolder(folder))
    ours = await expander.expand(
        "PTO rules", (query_pb2.QUERY_KIND_SYNONYMS,), 3, 7, Deadline.after(5)
    )
    theirs = await expander.expand(
        "PTO rules", (query_pb2.QUERY_KIND_SYNONYMS,), 3, 8, Deadline.after(5)
    )
    assert [one.text for one in ours.variants] == ["paid time off rules"]
    assert theirs.variants == ()


async def test_without_a_model_it_says_what_it_left_out(folder: Path) -> None:
    done = await SynonymExpander(SynonymFolder(folder)).expand(
        "PTO", EVERY, 3, 7, Deadline.after(5)
    )
    assert [one.kind for one in done.variants] == [query_pb2.QUERY_KIND_SYNONYMS]
    assert "multi_query needs a language model" in done.degraded_reason
    assert "hyde needs a language model" in done.degraded_reason


class Model:
    """Writes the same for every question; HyDE fails where told to."""

    provider = "p"
    model = "m"
    local = False

    def __init__(self, hyde_fails: bool = False, reply: str | None = None) -> None:
        self.hyde_fails = hyde_fails
        self.reply = reply or json.dumps(
            ["days off rules", "holiday rules", "PTO RULES", "vacation rules"]
        )

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion:
        if "passage" in system:
            if self.hyde_fails:
                raise Unavailable("the model server cannot be reached")
            return Completion("Staff get 25 days.", Usage("p", "m", 1, 2, cost_usd=0.1))
        return Completion(self.reply, Usage("p", "m", 1, 2, cost_usd=0.1))


async def test_every_method_gets_a_place_among_three(folder: Path) -> None:
    expander = ModelExpander(SynonymExpander(SynonymFolder(folder)), Model(), 5)
    done = await expander.expand("PTO rules", EVERY, 9, 7, Deadline.after(5))
    assert [(one.text, one.kind) for one in done.variants] == [
        ("paid time off rules", query_pb2.QUERY_KIND_SYNONYMS),
        ("days off rules", query_pb2.QUERY_KIND_MULTI_QUERY),
        ("Staff get 25 days.", query_pb2.QUERY_KIND_HYDE),
    ]
    assert done.usage.output_tokens == 4
    assert done.usage.cost_usd == pytest.approx(0.2)


async def test_a_method_that_fails_is_named_and_the_rest_is_kept(folder: Path) -> None:
    expander = ModelExpander(SynonymExpander(SynonymFolder(folder)), Model(hyde_fails=True), 5)
    done = await expander.expand("PTO rules", EVERY, 2, 7, Deadline.after(5))
    assert len(done.variants) == 2
    assert done.degraded_reason == "hyde: the model server cannot be reached"


async def test_a_reply_in_another_form_gives_nothing(folder: Path) -> None:
    expander = ModelExpander(SynonymExpander(SynonymFolder(None)), Model(reply="Sure!"), 5)
    done = await expander.expand(
        "PTO rules", (query_pb2.QUERY_KIND_MULTI_QUERY,), 3, 7, Deadline.after(5)
    )
    assert done.variants == ()
    assert "agreed form" in done.degraded_reason
