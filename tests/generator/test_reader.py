"""The trained reader: what it says of a sentence depends on the question and the sentence alone."""

import io
from pathlib import Path

import numpy as np
import pytest

from services.generator.answers import Source
from services.generator.extractive.features import read
from services.generator.extractive.question import Question
from services.generator.extractive.reader import (
    LARGEST,
    OUTPUTS,
    Marked,
    Reader,
    mark,
    reader,
    shapes,
)
from services.generator.extractive.windows import Weights, Window, candidates, windows
from services.minilm.model import MiniLM, TokenVectors
from services.rpc.errors import DataLoss

QUESTION = "Who signs the travel form?"
ANSWER = "The travel form is signed by Edith Marlow of the people team."
OTHER = "The travel form is kept for six years."


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM.load()


def marked(model: MiniLM, text: str) -> Marked:
    return mark(text, model.encode([text])[0])


def test_marks_say_what_the_word_of_each_token_is(model: MiniLM) -> None:
    text = "Travel\nThe Forms cost 12 euros"
    found = mark(text, model.encode([text])[0], prefix=len("Travel\n"))
    assert found.marks.tolist() == [
        [False, False, True],
        [True, False, True],
        [True, False, True],
        [True, False, False],
        [True, True, False],
        [True, False, False],
    ]
    assert found.stems[1] == -1, "a stop word"
    assert found.stems[2] == marked(model, "form").stems[0]


def test_every_token_has_its_logits_and_the_same_each_time(model: MiniLM) -> None:
    question, sentence = marked(model, QUESTION), marked(model, ANSWER)
    first, second = (reader().scores(question, sentence) for _ in range(2))
    assert first.tokens.shape == (len(sentence.vectors), OUTPUTS)
    assert first.none.shape == (OUTPUTS,)
    assert np.array_equal(first.tokens, second.tokens)
    assert first.evidence() == second.evidence()


def test_tells_the_sentence_that_answers(model: MiniLM) -> None:
    question = marked(model, QUESTION)
    answers, other = (
        reader().scores(question, marked(model, text)).evidence() for text in (ANSWER, OTHER)
    )
    assert answers > other


def test_a_sentence_does_not_depend_on_what_else_is_read(model: MiniLM) -> None:
    asked = Question.of(QUESTION)
    one, other = Source(0, "Travel", ANSWER), Source(1, "Archive", OTHER)

    def odds(found: list[Window]) -> float:
        weights = Weights.of(asked, [each for window in found for each in window.sentences])
        reading = read(model, asked, found, weights)
        place = next(n for n, each in enumerate(reading.sentences) if each.text == ANSWER)
        return float(reading.odds[place])

    alone = odds(windows(candidates([one])))
    assert odds(windows(candidates([other, one]))) == pytest.approx(alone, abs=1e-3)
    assert odds(windows(candidates([one, other]))) == pytest.approx(alone, abs=1e-3)


@pytest.mark.parametrize(("question", "sentence"), [("", ANSWER), (QUESTION, ""), ("", "")])
def test_no_tokens_are_no_error(model: MiniLM, question: str, sentence: str) -> None:
    scores = reader().scores(marked(model, question), marked(model, sentence))
    assert -LARGEST <= scores.evidence() <= LARGEST


def stored(weights: dict[str, np.ndarray]) -> io.BytesIO:
    file = io.BytesIO()
    np.savez_compressed(file, **weights)  # type: ignore[arg-type]
    file.seek(0)
    return file


def ones(d: int) -> dict[str, np.ndarray]:
    return {name: np.ones(shape, np.float16) for name, shape in shapes(d).items()}


def test_weights_of_the_architecture_are_taken(model: MiniLM) -> None:
    scores = Reader.read(stored(ones(8))).scores(marked(model, QUESTION), marked(model, ANSWER))
    assert np.isfinite(scores.tokens).all()


def test_damaged_weights_are_data_loss(tmp_path: Path) -> None:
    whole = stored(ones(8)).getvalue()
    for damaged in (b"", b"not a file of weights", whole[: len(whole) // 2]):
        with pytest.raises(DataLoss, match="cannot be read"):
            Reader.read(io.BytesIO(damaged))
    with pytest.raises(DataLoss, match="cannot be read"):
        Reader.read(tmp_path / "reader.npz")


def test_weights_of_another_architecture_are_data_loss() -> None:
    weights = ones(8)
    for wrong in (
        {},
        {name: one for name, one in weights.items() if name != "pool"},
        weights | {"tokens": np.ones((8, OUTPUTS + 1), np.float16)},
    ):
        with pytest.raises(DataLoss, match="another architecture"):
            Reader.read(stored(wrong))


def test_a_text_without_words_is_marked() -> None:
    empty = TokenVectors(np.empty((0, 384), np.float32), (), (), False)
    assert mark("", empty).marks.shape == (0, 3)
