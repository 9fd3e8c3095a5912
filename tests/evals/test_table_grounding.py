"""The study of grounding makes right and wrong sentences, and knows which is which."""

import random

from evals.studies.table_grounding import REASON, figures, sentences
from services.gateway.grounding.check import check_sentence
from services.gateway.grounding.quotes import SourceText
from tests.text.grids import grid

FLOWS = grid(["Code | Flow (m3/h) | Head (m)", "GN27 | 45 | 12", "GN28 | 48 | 14"])
WEIGHTS = grid(["Code | Weight (kg) | Length (mm)", "GN27 | 50 | 310", "GN28 | 52 | 320"])


def test_its_sentences_are_judged_as_it_says() -> None:
    text = f"{FLOWS.text}\n\n{WEIGHTS.text}"
    moved = WEIGHTS.table.moved(len(FLOWS.text) + 2)
    source = SourceText(text, tables=(FLOWS.table, moved))
    found = figures(source)
    assert len(found) == 8
    made = [each for one in found for each in sentences(one, found, random.Random(1))]
    assert {kind for kind, right, _ in made if not right} == {
        "another column",
        "another row",
        "another table",
    }
    for _, right, sentence in made:
        reasons = check_sentence(sentence, [source]).reasons
        assert (REASON not in reasons) is right, sentence.text
