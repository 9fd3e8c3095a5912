"""Rewrites by rule, without a model: English pronouns and ellipsis. It repeats what was said, never more.

What it cannot resolve it asks back; what it does not recognise it leaves alone.
"""

from collections.abc import Sequence

from services.generator.rewrite import MAX_TURNS, Rewrite, Turn
from services.generator.rewrite import reference as ref
from services.rpc.deadline import Deadline

# Without a conversation they mean whoever the documents are about: "Will they pay for a taxi?"
GENERIC = frozenset({"they", "them", "their", "theirs", "there", "same", "the same"})


# Characters before the name that a reply begins with: "That is the ".
MAX_BEFORE_NAME = 15


class RulesRewriter:
    """See Rewriter. No waiting, no usage."""

    provider = "rules"
    model = ""
    local = True

    async def rewrite(self, question: str, history: Sequence[Turn], deadline: Deadline) -> Rewrite:
        return rewrite(question, history)


def needs_history(question: str) -> bool:
    """Whether a message cannot be understood by itself, as far as the rules can see."""
    return bool(ref.pronoun(question)) or ref.continues(question) or ref.chooses(question)


def rewrite(question: str, history: Sequence[Turn]) -> Rewrite:
    """The rules in order: a choice, a continuation, a pronoun; else unchanged."""
    asked = question.strip()
    turns = [turn for turn in history[-MAX_TURNS:] if turn.text.strip()]
    last = next((turn.text.strip() for turn in reversed(turns) if turn.from_user), "")
    if not last:
        return _without_history(question, asked)
    if not needs_history(asked):
        return Rewrite(standalone=question, unchanged=True)
    if ref.chooses(asked):
        return _choice(asked, turns)
    if ref.continues(asked) and not ref.pronoun(asked):
        return _continuation(asked, last)
    return _pronoun(asked, last, turns)


def _without_history(question: str, asked: str) -> Rewrite:
    word = ref.pronoun(asked, without=GENERIC)
    if word:
        return Rewrite(clarification=f'What does "{word}" refer to?')
    if ref.chooses(asked) or ref.bare(asked):
        return Rewrite(clarification="What is your question about?")
    noun = ref.incomplete(asked)
    if noun:
        return Rewrite(clarification=f"Which {noun} do you mean?")
    # A few words without a verb are a fair search: "parental leave part-time".
    return Rewrite(standalone=question, unchanged=True)


def _choice(asked: str, turns: Sequence[Turn]) -> Rewrite:
    options = ref.candidates([turn.text for turn in reversed(turns)][:2])
    if len(options) == 1:
        return Rewrite(standalone=f"{asked.rstrip(' ?.!')} ({options[0]})?")
    if len(options) > 1:
        return Rewrite(clarification=f"Which one do you mean: {_listed(options[:4])}?")
    return Rewrite(clarification="Which one do you mean?")


def _continuation(asked: str, last: str) -> Rewrite:
    if ref.bare(asked):
        return Rewrite(standalone=f"{last.rstrip(' ?.!')}: {asked}")
    rest = ref.remainder(asked)
    years = ref.years(rest)
    if len(years) == 1 and len(rest.split()) <= 3:
        return Rewrite(standalone=ref.with_year(last, years[0]))
    return Rewrite(standalone=f"{last.rstrip(' ?.!')}, {rest}?")


def _pronoun(asked: str, last: str, turns: Sequence[Turn]) -> Rewrite:
    named = ref.candidates([last])
    carried = named[-1] if len(named) == 1 else ref.topic(last)
    if len(named) > 1 and ref.topic(last) not in named:
        carried = ref.topic(last)
    if not carried:
        earlier = ref.candidates([turn.text for turn in reversed(turns)])
        if len(earlier) != 1:
            return Rewrite(clarification=f'What does "{ref.pronoun(asked)}" refer to?')
        carried = earlier[0]
    replied = _replied(last, turns)
    if replied and not named:
        carried = f"{replied}, {carried}"
    return Rewrite(standalone=f"{asked.rstrip(' ?.!')} ({carried})?")


def _replied(last: str, turns: Sequence[Turn]) -> str:
    """What the reply to "which ...?" or "who ...?" names first: the K80 of "The K80 is the one for heating"."""
    reply = turns[-1]
    if reply.from_user or not last.lower().startswith(("which", "who", "what")):
        return ""
    first = ref.phrases(reply.text)[:1]
    return first[0].text if first and first[0].start <= MAX_BEFORE_NAME else ""


def _listed(options: Sequence[str]) -> str:
    return ", ".join(options[:-1]) + f" or {options[-1]}"
