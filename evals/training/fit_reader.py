"""Trains the reader of the extractive generator (services/generator/extractive/reader.py) on SQuAD train.

    python -m evals.training.fit_reader prepare DATA FOLDER    # token vectors, about 5 MB an article
    python -m evals.training.fit_reader train FOLDER services/generator/extractive/reader.npz    # needs PyTorch (CPU)

DATA holds squad/. Trained on squad train-v1.1 (CC BY-SA 4.0) alone: each question with the sentence that answers it
and, to learn when there is no answer, with the likest other sentences of its article; the same sentence also with the
question changed in a name, a number or a word, and with a question of another article. A tenth of the articles is left
for the two regressions (fit_extractive.py, to be run after this), a tenth tells how well it went. The number of pairs
is fixed, and so is the order of every sum: the same folder gives the same weights on the same kind of processor.
"""

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from evals.training.reader_examples import (
    FOR_REGRESSIONS,
    FOR_STOPPING,
    Article,
    articles_in,
    prepare,
    tenth,
)
from services.generator.extractive.reader import Marked, Reader

SEED = 20250607
D = 96
# A step is PARTS groups of PAIRS, each by a thread: their gradients are added in order.
PARTS, PAIRS = 4, 24
ALTERED, STRANGE = 0.6, 0.3
RATE = 2e-3
DECAY = 0.02
WARM = 0.05
ARTICLES = 300
# About ten minutes on two cores.
TO_READ = 300_000


@dataclass(frozen=True)
class Pair:
    """A question, a sentence and where it answers: (first token, last token), or None."""

    question: Marked
    sentence: Marked
    answer: tuple[int, int] | None


def pairs(articles: Sequence[Article], chance: random.Random) -> Iterator[Pair]:
    """Every question once, with its sentence and with what does not answer it; other negatives each time."""
    for article in articles:
        for asked in article.asked:
            question, window = article.texts[asked.text], article.texts[asked.window]
            begin, end = asked.sentence
            gold = _sentence(window, begin, end)
            shift = int(np.count_nonzero(~window.marks[:, 0])) - begin
            yield Pair(question, gold, (asked.start + shift, asked.end + shift))
            for number, *span in chance.sample(asked.hard[:4], min(2, len(asked.hard))):
                yield Pair(question, _sentence(article.texts[number], *span), None)
            for number, *span in chance.sample(asked.hard[4:], min(1, len(asked.hard[4:]))):
                yield Pair(question, _sentence(article.texts[number], *span), None)
            if asked.altered and chance.random() < ALTERED:
                yield Pair(article.texts[chance.choice(asked.altered)], gold, None)
            elif chance.random() < STRANGE:
                other = chance.choice(articles)
                if other is not article and other.asked:
                    yield Pair(other.texts[chance.choice(other.asked).text], gold, None)


def _sentence(window: Marked, begin: int, end: int) -> Marked:
    """A sentence with what the window stands under."""
    kept = ~window.marks[:, 0]
    kept[begin:end] = True
    return Marked(window.vectors[kept], window.stems[kept], window.marks[kept])


def batches(found: Sequence[Pair], chance: random.Random) -> list[list[Pair]]:
    """In groups of like length, in random order."""
    order = sorted(found, key=lambda pair: len(pair.sentence.stems) + chance.random() * 8)
    groups = [order[at : at + PAIRS] for at in range(0, len(order), PAIRS)]
    chance.shuffle(groups)
    return groups


def loss_of(tokens: Any, none: Any, group: Sequence[Pair]) -> Any:
    """Mean cross-entropy of start, end and sentence, where "none" is one class more."""
    import torch

    logits = torch.cat([tokens, none[:, None]], dim=1)
    target = torch.zeros(logits.shape, dtype=torch.bool)
    last = logits.shape[1] - 1
    for row, pair in enumerate(group):
        if pair.answer is None:
            target[row, last] = True
        else:
            start, end = pair.answer
            target[row, start, 0] = target[row, end, 1] = True
            target[row, torch.from_numpy(np.flatnonzero(pair.sentence.marks[:, 0])), 2] = True
    right = logits.masked_fill(~target, -torch.inf).logsumexp(dim=1)
    return (logits.logsumexp(dim=1) - right).mean()


def train(folder: Path, out: Path, count: int, limit: int) -> None:
    import torch

    from evals.training.reader_network import batch_of, forward, initial

    torch.set_num_threads(1)
    every = [article for article, _ in zip(articles_in(folder), range(limit), strict=False)]
    kept = [a for a in every if tenth(a.title) not in (FOR_REGRESSIONS, FOR_STOPPING)]
    stop = [a for a in every if tenth(a.title) == FOR_STOPPING]
    chance = random.Random(SEED)
    epochs = _epochs(kept, chance)
    weights = initial(D, SEED)
    plain = [one for name, one in weights.items() if one.dim() < 2]
    decayed = [one for name, one in weights.items() if one.dim() >= 2]
    optimizer = torch.optim.AdamW(
        [{"params": plain, "weight_decay": 0.0}, {"params": decayed, "weight_decay": DECAY}],
        lr=RATE,
        betas=(0.9, 0.98),
    )
    held = list(pairs(stop, random.Random(SEED)))[:1500]
    print(
        f"{sum(len(a.asked) for a in kept)} questions to train on, {len(held)} pairs held out;",
        end=" ",
    )
    print(f"{sum(one.numel() for one in weights.values())} parameters", flush=True)
    average = {name: one.detach().clone() for name, one in weights.items()}
    step, since, seen, total = 0, 0, 0, 0.0
    shown = 1
    values = list(weights.values())

    def gradients(group: list[Pair]) -> tuple[float, Any]:
        tokens, none = forward(weights, batch_of([(p.question, p.sentence) for p in group]))
        loss = loss_of(tokens, none, group)
        return loss.item(), torch.autograd.grad(loss, values)

    pool = ThreadPoolExecutor(PARTS)
    for groups in batched(epochs, PARTS):
        part = seen / count
        if part >= 1:
            break
        for settings in optimizer.param_groups:
            settings["lr"] = RATE * min(1, part / WARM) * (0.5 + 0.5 * math.cos(math.pi * part))
        losses, found = zip(*pool.map(gradients, groups), strict=True)
        for value, *parts in zip(values, *found, strict=True):
            value.grad = sum(parts[1:], parts[0]) / PARTS
        torch.nn.utils.clip_grad_norm_(values, 1.0)
        optimizer.step()
        step, since, seen, total = (
            step + 1,
            since + 1,
            seen + PARTS * PAIRS,
            total + sum(losses) / PARTS,
        )
        fade = min(0.995, step / (step + 10))
        with torch.no_grad():
            for name, one in weights.items():
                average[name].lerp_(one, 1 - fade)
        if part * 10 >= shown:
            shown += 1
            scores = held_out(_numpy(average), held[:300])
            print(f"{part:4.0%} {seen} pairs, loss {total / since:.3f}; {scores}", flush=True)
            total, since = 0.0, 0
    stored = _numpy(average)
    with out.open("wb") as file:
        np.savez_compressed(file, **{name: one.astype(np.float16) for name, one in stored.items()})
    print(f"{seen} pairs; all held out:", held_out(stored, held))


def batched(groups: Iterator[list[Pair]], count: int) -> Iterator[list[list[Pair]]]:
    while taken := list(islice(groups, count)):
        yield taken


def _epochs(articles: Sequence[Article], chance: random.Random) -> Iterator[list[Pair]]:
    while True:
        yield from batches(list(pairs(articles, chance)), chance)


def _numpy(weights: dict[str, Any]) -> dict[str, Any]:
    return {name: one.numpy() for name, one in weights.items()}


def held_out(weights: dict[str, Any], held: Sequence[Pair]) -> dict[str, float]:
    """By the code that will read: AUC of answers against not, and how often the answer starts where it should."""
    from evals.training.fit_extractive import auc

    reader = Reader(weights)
    odds, labels, exact = [], [], []
    for pair in held:
        question, sentence = (
            Marked(text.vectors.astype(np.float32), text.stems, text.marks)
            for text in (pair.question, pair.sentence)
        )
        scores = reader.scores(question, sentence)
        odds.append(scores.evidence())
        labels.append(pair.answer is not None)
        if pair.answer is not None:
            exact.append(int(scores.tokens[:, 0].argmax()) == pair.answer[0])
    return {
        "auc": round(auc(np.array(odds), np.array(labels, float)), 4),
        "start_exact": round(float(np.mean(exact)), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("prepare", "train"))
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--articles", type=int, default=ARTICLES)
    parser.add_argument("--pairs", type=int, default=TO_READ)
    arguments = parser.parse_args()
    if arguments.command == "prepare":
        prepare(arguments.source, arguments.out, arguments.articles, SEED)
    else:
        train(arguments.source, arguments.out, arguments.pairs, arguments.articles)


if __name__ == "__main__":
    main()
