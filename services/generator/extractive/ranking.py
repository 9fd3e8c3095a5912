"""Ranks the sentences that were read: the fitted evidence, then the rules that no figure overrules."""

import math

import numpy as np
from numpy.typing import NDArray

from services.generator.extractive import codes
from services.generator.extractive.confidence import Logistic
from services.generator.extractive.features import Reading
from services.generator.extractive.layout import Line
from services.generator.injections import is_injection

# Added to the logit of a sentence that is about the code that is asked about; SQuAD has no codes to fit it on.
DEFINES = 3.0


def rank(reading: Reading, evidence: Logistic) -> NDArray[np.float64]:
    """(sentences,): the logit of each; -inf of what must not be an answer.

    That is: an order to the reader's assistant, a running title, a header or a heading that says no code; and, where
    codes are asked about, what says fewer of them than another.
    """
    logits = evidence.logits(reading.features)
    asked = codes.asked_about(reading.question)
    said = [codes.said(sentence) & asked for sentence in reading.sentences]
    # Where one says them all, the others are about something else.
    needed = max(map(len, said), default=0) or 1
    for place, sentence in enumerate(reading.sentences):
        defines = bool(asked) and codes.defined(asked, sentence)
        if (
            sentence.line in (Line.FURNITURE, Line.HEADER)
            or (sentence.line is Line.HEADING and not defines)
            or (asked and len(said[place]) < needed)
            or is_injection(sentence.text)
        ):
            logits[place] = -np.inf
        elif defines:
            logits[place] += DEFINES
    return logits


def confidence(reading: Reading, place: int, evidence: Logistic) -> float:
    """The probability that the sentence at `place` answers."""
    logit = float(evidence.logits(reading.answer_features(place)))
    asked = codes.asked_about(reading.question)
    if asked and codes.defined(asked, reading.sentences[place]):
        logit += DEFINES
    return 1 / (1 + math.exp(-max(-500.0, logit)))
