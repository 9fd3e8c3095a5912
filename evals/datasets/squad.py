"""SQuAD 2.0 dev (Rajpurkar et al., 2018): paragraphs, and questions of which about half they do not answer."""

import hashlib
import json
from pathlib import Path

from evals.datasets import Collection, Passage, Query
from evals.files import BadFile, read_text


def load_squad(data: Path, *, answerable: int = 500, unanswerable: int = 500) -> Collection:
    """Every paragraph, and this many questions of each sort, chosen by the hash of their id.

    The paragraph that an unanswerable question was written for has grade 0: it is what makes the question hard.
    """
    path = data / "squad" / "dev-v2.0.from-html.json"
    try:
        articles = json.loads(read_text(path))["data"]
    except (ValueError, KeyError):
        raise BadFile(path, 0, 'expected the SQuAD layout: {"data": [...]}') from None
    passages, questions, qrels = [], [], {}
    for article in articles:
        for number, paragraph in enumerate(article["paragraphs"]):
            name = f"{article['title']}-{number}"
            passages.append(Passage(name, article["title"].replace("_", " "), paragraph["context"]))
            for asked in paragraph["qas"]:
                possible = not asked["is_impossible"]
                answers = tuple(dict.fromkeys(asked["answers"])) if possible else ()
                questions.append(Query(asked["id"], asked["question"], possible, answers=answers))
                qrels[asked["id"]] = {name: int(possible)}
    questions.sort(key=lambda query: hashlib.sha256(query.id.encode()).digest())
    chosen = [query for query in questions if query.answerable][:answerable]
    chosen += [query for query in questions if not query.answerable][:unanswerable]
    return Collection("squad", tuple(passages), tuple(chosen), {q.id: qrels[q.id] for q in chosen})
