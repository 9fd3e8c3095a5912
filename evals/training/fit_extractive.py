"""Fits the extractive generator's two logistic regressions on SQuAD train, and measures them.

    python -m evals.training.fit_extractive fit DATA services/generator/extractive/coefficients.json
    python -m evals.training.fit_extractive measure DATA

DATA holds squad/ and clapnq/. Trained on squad train-v1.1 (CC BY-SA 4.0) alone, each question with the paragraphs that
late interaction finds in its article. Negatives are made: the search without the gold paragraph, the paragraph without
its gold sentence, the question with a name or a number of another question in it, a question of another article. Only
articles that the reader (evals/training/fit_reader.py) was not trained on: on those its evidence would be too good.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from evals.training.reader_examples import FOR_REGRESSIONS, tenth, train_articles
from native import maxsim
from services.gateway import calibration, calibrations
from services.generator.answers import Source, Span
from services.generator.extractive.confidence import Logistic
from services.generator.extractive.encoder_cache import CachedEncoder
from services.generator.extractive.features import (
    ANSWER_FEATURES,
    SENTENCE_FEATURES,
    Encoder,
    Reading,
    read,
)
from services.generator.extractive.generator import ExtractiveGenerator
from services.generator.extractive.question import Question
from services.generator.extractive.ranking import rank
from services.generator.extractive.windows import Weights, candidates, likeliest, windows
from services.generator.sentences import split
from services.generator.settings import GeneratorSettings
from services.generator.words import content_words, names
from services.minilm.model import MiniLM

SEED = 20250607
# The columns are alike: little data and a weak ridge give large weights against each other.
SENTENCE_RIDGE, ANSWER_RIDGE = 100.0, 30.0
# Chosen on the working golden set: docs/results/generator.md has the curve.
THRESHOLD = 0.25
PER_ARTICLE = 24
HELD_OUT = 5
MAX_PARAGRAPHS = 30
RELEVANCE = next(
    one
    for one in calibration.load(Path(calibrations.__path__[0])).values()
    if one.signal == "score_per_token"
)
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """A question, the sources it is asked of, and its answers (none: it cannot be answered from them)."""

    question: str
    sources: tuple[Source, ...]
    answers: tuple[str, ...]
    article: str
    # The source that holds the answers.
    gold: int = 0


def squad_train(data: Path, encoder: MiniLM, count: int, seed: int) -> Iterator[Example]:
    """About `count` questions of train-v1.1, each with what a search in its article finds; half made unanswerable."""
    chance = random.Random(seed)
    articles = [one for one in train_articles(data) if tenth(one["title"]) == FOR_REGRESSIONS]
    for number, article in enumerate(chance.sample(articles, count // PER_ARTICLE)):
        paragraphs = article["paragraphs"][:MAX_PARAGRAPHS]
        search = Search(encoder, [paragraph["context"] for paragraph in paragraphs])
        asked = [(p, qa) for p, one in enumerate(paragraphs) for qa in one["qas"] if qa["answers"]]
        strange = chance.choice(articles)["paragraphs"][0]["qas"]
        for place, qa in chance.sample(asked, min(PER_ARTICLE, len(asked))):
            made = _example(chance, search, article, place, qa, strange)
            if made is not None:
                yield made
        if number % 10 == 0:
            print(f"{number} articles", flush=True)


class Search:
    """Late interaction over the paragraphs of one article, as the reranker does it."""

    def __init__(self, encoder: MiniLM, texts: list[str]) -> None:
        self.texts = texts
        self._encoder = encoder
        self._vectors = encoder.token_vectors(texts)

    def find(self, question: str, without: set[int], limit: int) -> list[tuple[int, float]]:
        """(paragraph, probability), best first."""
        (asked,) = self._encoder.token_vectors([question])
        found = maxsim.alignments(asked, self._vectors).similarities.mean(axis=1)
        order = [int(place) for place in np.argsort(-found) if int(place) not in without]
        return [(place, RELEVANCE.probability(float(found[place]))) for place in order[:limit]]


def _example(
    chance: random.Random, search: Search, article: Any, place: int, qa: Any, strange: Any
) -> Example | None:
    title = article["title"].replace("_", " ")
    answers, question = tuple(qa["answers"]), qa["question"]
    way = chance.choice(
        ("asked", "asked", "asked", "no paragraph", "no sentence", "swapped", "strange")
    )
    texts = dict(enumerate(search.texts))
    without: set[int] = set()
    if way == "no sentence":
        kept = [
            texts[place][span.start : span.end]
            for span in split(texts[place])
            if not any(answer in texts[place][span.start : span.end] for answer in answers)
        ]
        texts[place] = " ".join(kept)
    elif way == "no paragraph":
        without = {place}
    elif way == "swapped":
        changed = _swapped(chance, question, article, texts[place])
        if changed is None:
            return None
        question = changed
    elif way == "strange":
        question = chance.choice(strange)["question"] if strange else question
        if not strange:
            return None
    found = search.find(question, without, chance.choice((3, 6, 10)))
    sources = tuple(Source(p, title, texts[p], (Span(0, len(texts[p])),), r) for p, r in found)
    return Example(question, sources, answers if way == "asked" else (), article["title"], place)


def _swapped(chance: random.Random, question: str, article: Any, text: str) -> str | None:
    """The question with one of its names or numbers replaced by one that its paragraph lacks."""
    have = [*names(question), *(word for word in content_words(question) if word.is_number)]
    pool = [
        word.text
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
        for word in [*names(qa["question"]), *content_words(qa["question"])]
        if word.text not in text and word.text not in question
    ]
    if not have:
        return None
    old = chance.choice(have)
    fitting = [
        one for one in pool if one[0].isdigit() == old.is_number and one[0].isupper() == old.is_name
    ]
    if not fitting:
        return None
    return question[: old.start] + chance.choice(fitting) + question[old.end :]


def reading_of(encoder: Encoder, example: Example, limit: int) -> Reading | None:
    question = Question.of(example.question)
    found = candidates(example.sources)
    weights = Weights.of(question, found)
    chosen = likeliest(windows(found), weights, limit)
    return read(encoder, question, chosen, weights) if chosen else None


def logistic(x: Array, y: Array, ridge: float = 1.0) -> Logistic:
    """Maximum likelihood with a ridge on the standardised weights."""
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    z = (x - mean) / scale

    def loss(parameters: Array) -> tuple[float, Array]:
        logits = z @ parameters[:-1] + parameters[-1]
        error = 1 / (1 + np.exp(-logits)) - y
        value = (
            np.logaddexp(0, logits).sum() - y @ logits + ridge / 2 * (parameters[:-1] ** 2).sum()
        )
        gradient = np.concatenate([z.T @ error + ridge * parameters[:-1], [error.sum()]])
        return float(value), gradient

    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x
    weights = found[:-1] / scale
    return Logistic(weights, float(found[-1] - weights @ mean))


def auc(scores: Array, labels: Array) -> float:
    """Area under the ROC curve, by ranks (ties share theirs)."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    yes = labels > 0.5
    return float((ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum()))


def fit(data: Path, out: Path, count: int) -> None:
    model = MiniLM.load()
    encoder = CachedEncoder(model)
    readings: list[tuple[Example, Reading, Array]] = []
    for example in squad_train(data, model, count, SEED):
        reading = reading_of(
            encoder, example, GeneratorSettings.model_fields["extractive_windows"].default
        )
        if reading is not None:
            holds = [
                s.source.index == example.gold
                and any(answer in s.text for answer in example.answers)
                for s in reading.sentences
            ]
            readings.append((example, reading, np.array(holds, float)))
    articles = sorted({example.article for example, _, _ in readings})
    held = set(random.Random(SEED).sample(articles, max(HELD_OUT, len(articles) // 6)))
    train = [item for item in readings if item[0].article not in held]
    test = [item for item in readings if item[0].article in held]
    sentence, answer = _models(train)
    x, y = _answers(test, sentence)
    p = 1 / (1 + np.exp(-answer.logits(x)))
    top1 = [
        holds[int(np.argmax(rank(reading, sentence)))] for _, reading, holds in test if holds.any()
    ]
    sentence, answer = _models(readings)
    report = {
        "fitted_on": "squad train-v1.1 (CC BY-SA 4.0), negatives made by evals/training/fit_extractive.py",
        "seed": SEED,
        "note": "the held-out figures are of a fit without those articles; the coefficients are of all examples;"
        " the threshold was chosen on the working golden set",
        "examples": {"train": len(train), "held_out": len(test)},
        "held_out": {
            "best_sentence_holds_answer": round(float(np.mean(top1)), 4),
            "auc": round(auc(p, y), 4),
            "brier": round(float(((p - y) ** 2).mean()), 4),
            "base_rate": round(float(y.mean()), 4),
        },
        "threshold": THRESHOLD,
        "sentence": _named(sentence, SENTENCE_FEATURES),
        "answer": _named(answer, ANSWER_FEATURES),
    }
    out.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report["held_out"]))


Read = tuple[Example, Reading, Array]


def _models(items: list[Read]) -> tuple[Logistic, Logistic]:
    """Which sentence answers best, fitted on the answerable; then whether the best one answers."""
    answerable = [(reading.features, holds) for _, reading, holds in items if holds.any()]
    sentence = logistic(
        np.concatenate([features for features, _ in answerable]),
        np.concatenate([holds for _, holds in answerable]),
        SENTENCE_RIDGE,
    )
    return sentence, logistic(*_answers(items, sentence), ANSWER_RIDGE)


def _answers(items: list[Read], sentence: Logistic) -> tuple[Array, Array]:
    """The evidence of each best sentence, and whether it holds the answer."""
    x, y = [], []
    for _, reading, holds in items:
        logits = rank(reading, sentence)
        if np.isfinite(logits).any():
            best = int(np.argmax(logits))
            x.append(reading.answer_features(best))
            y.append(holds[best])
    return np.array(x), np.array(y)


def _named(model: Logistic, columns: tuple[str, ...]) -> dict[str, float]:
    values = {
        name: round(float(weight), 5) for name, weight in zip(columns, model.weights, strict=True)
    }
    return {**values, "bias": round(model.bias, 5)}


def squad_dev(data: Path, count: int) -> Iterator[Example]:
    """A sample of dev-v2.0, each question with its own paragraph."""
    articles = json.loads((data / "squad/dev-v2.0.from-html.json").read_text())["data"]
    asked = [
        Example(
            qa["question"],
            (Source(0, article["title"].replace("_", " "), paragraph["context"]),),
            () if qa.get("is_impossible") else tuple(qa["answers"]),
            article["title"],
        )
        for article in articles
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]
    yield from random.Random(SEED).sample(asked, min(count, len(asked)))


def clapnq(data: Path, count: int) -> Iterator[Example]:
    """The dev questions, half of them unanswerable; the answer is any of the gold sentences."""
    for kind in ("answerable", "unanswerable"):
        lines = (
            (data / f"clapnq/annotated_data/dev/clapnq_dev_{kind}.jsonl").read_text().splitlines()
        )
        for line in lines[: count // 2]:
            item = json.loads(line)
            sources = tuple(
                Source(i, p["title"], p["text"]) for i, p in enumerate(item["passages"])
            )
            chosen = {
                one for output in item["output"] for one in output.get("selected_sentences") or ()
            }
            gold = tuple(str(one) for one in chosen) if kind == "answerable" else ()
            yield Example(item["input"], sources, gold, item["passages"][0]["title"])


def measure(data: Path, count: int) -> None:
    """The answer table: correct, wrong, abstained; false-answer and over-abstention rates by threshold."""
    generator = ExtractiveGenerator(MiniLM.load(), threshold=0.0)
    for name, examples in (
        ("squad dev-v2.0", squad_dev(data, count)),
        ("clapnq dev", clapnq(data, count)),
    ):
        rows = []
        for example in examples:
            result = generator.extract(example.question, example.sources)
            said = " ".join(sentence.text for sentence in result.sentences)
            rows.append(
                (result.confidence or 0.0, bool(example.answers), _right(said, example.answers))
            )
        p, can, right = (np.array(column, float) for column in zip(*rows, strict=True))
        print(
            f"{name}: {len(rows)} questions, {int(can.sum())} answerable; AUC answerable {auc(p, can):.3f},"
            f" right sentence {right[can > 0].mean():.3f}"
        )
        print("threshold  false-answer  over-abstention  correct-of-answered")
        for threshold in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            said_it = p >= threshold
            print(
                f"{threshold:9.1f}  {said_it[can < 1].mean():12.3f}  {1 - said_it[can > 0].mean():15.3f}"
                f"  {right[said_it].mean() if said_it.any() else float('nan'):19.3f}"
            )


def _right(said: str, answers: tuple[str, ...]) -> float:
    return float(any(" ".join(answer.split()) in said for answer in answers))


def run(
    description: str | None,
    count: int,
    fit: Callable[[Path, Path, int], None],
    measure: Callable[[Path, int], None],
) -> None:
    """The command line of a program that fits weights: `fit DATA OUT`, `measure DATA`, over so many examples."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("fit", "measure"))
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--count", type=int, default=count)
    arguments = parser.parse_args()
    if arguments.command == "fit":
        if arguments.out is None:
            parser.error("fit needs the file to write")
        fit(arguments.data, arguments.out, arguments.count)
    else:
        measure(arguments.data, arguments.count)


if __name__ == "__main__":
    run(__doc__, 720, fit, measure)
