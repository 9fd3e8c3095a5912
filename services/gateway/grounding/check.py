"""The verdict on an answer: every quote is in the passage it names, every fact has a quote, no figure is new."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.gateway.grounding.factual import facts
from services.gateway.grounding.numbers import LONG_WORD
from services.gateway.grounding.pairing import Quoted, mispaired
from services.gateway.grounding.quotes import SourceText, Span, find
from services.gateway.grounding.support import flips_negation, missing_figures
from services.gateway.grounding.text import neutralise
from services.text.invisible import without_invisible

MAX_SENTENCES = 200
MAX_QUOTES = 50
MAX_CHARACTERS = 10_000


@dataclass(frozen=True)
class DraftQuote:
    """A citation as a generator gave it. `char_start` is where it says the quote stands; nothing is believed."""

    source: int
    text: str
    char_start: int = 0


@dataclass(frozen=True)
class DraftSentence:
    """A sentence as a generator gave it."""

    text: str
    quotes: tuple[DraftQuote, ...]


@dataclass(frozen=True)
class Quote:
    """A quote that was found: `text` is the passage's own, `span` its place in the passage."""

    source: int
    text: str
    span: Span


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence, safe to show, with the quotes that hold; `reasons` says why it is not grounded, if it is not.

    `judged`: a judge has read it beside its quotes.
    """

    text: str
    quotes: tuple[Quote, ...]
    reasons: tuple[str, ...] = ()
    judged: bool = False


@dataclass(frozen=True)
class Verdict:
    """Grounded, or why not. Reasons hold no text of the answer."""

    sentences: tuple[CheckedSentence, ...]
    reasons: tuple[str, ...]

    @property
    def grounded(self) -> bool:
        return not self.reasons


def check_answer(answer: Sequence[DraftSentence], sources: Sequence[SourceText]) -> Verdict:
    """The verdict on a whole answer. An answer without sentences, or without any quote, is not grounded."""
    if len(answer) > MAX_SENTENCES:
        return Verdict((), (f"the answer has more than {MAX_SENTENCES} sentences",))
    checked = tuple(check_sentence(sentence, sources) for sentence in answer)
    return conclude(checked)


def conclude(checked: Sequence[CheckedSentence]) -> Verdict:
    """The verdict on sentences that were checked one by one."""
    said = tuple(sentence for sentence in checked if sentence.text.strip())
    reasons = [
        f"sentence {number}: {reason}"
        for number, sentence in enumerate(said, 1)
        for reason in sentence.reasons
    ]
    if not said:
        reasons.append("the answer is empty")
    elif not any(sentence.quotes for sentence in said):
        reasons.append("the answer quotes nothing")
    return Verdict(said, tuple(reasons))


def check_sentence(sentence: DraftSentence, sources: Sequence[SourceText]) -> CheckedSentence:
    """One sentence against the passages it names."""
    text = neutralise(sentence.text)
    quotes: list[Quote] = []
    reasons: list[str] = []
    if len(sentence.quotes) > MAX_QUOTES:
        return CheckedSentence(text, (), (f"it has more than {MAX_QUOTES} quotes",))
    if len(text) > MAX_CHARACTERS or LONG_WORD.search(without_invisible(text)):
        return CheckedSentence(text, (), ("it, or a word in it, is too long to be checked",))
    for draft in sentence.quotes:
        if not 0 <= draft.source < len(sources):
            reasons.append("it cites a source that does not exist")
            continue
        source = sources[draft.source]
        span = find(draft.text, source, draft.char_start)
        if span is None or any(
            gap.start < span.end and span.start < gap.end for gap in source.gaps
        ):
            reasons.append("a quote is not in the source it names")
        else:
            quotes.append(Quote(draft.source, neutralise(source.text[span.start : span.end]), span))
    kinds = facts(text)
    if kinds and not quotes:
        reasons.append(f"it states {min(kinds).one} without a source")
    elif kinds:
        texts = [quote.text for quote in quotes]
        sections = [sources[index] for index in sorted({quote.source for quote in quotes})]
        missing = missing_figures(text, texts, sections)
        reasons += [f"it states a {kind} that is not in its sources" for kind in missing]
        if flips_negation(text, texts):
            reasons.append("it denies what its quote affirms, or the other way round")
        if mispaired(text, [Quoted(quote.source, quote.span) for quote in quotes], sources):
            reasons.append("it takes a value from another row or column than the one it names")
    return CheckedSentence(text, tuple(quotes), tuple(dict.fromkeys(reasons)))
