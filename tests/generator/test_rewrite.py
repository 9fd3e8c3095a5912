"""Rewriting: standalone, exact, or a question back; by rule and through a model that may fail."""

import json
from typing import Any

import pytest

from services.generator.answers import Usage
from services.generator.models import Completion
from services.generator.rewrite import Turn
from services.generator.rewrite.model import ModelRewriter
from services.generator.rewrite.rules import rewrite
from services.rpc.deadline import Deadline
from services.rpc.errors import Aborted, FolioError


def turns(*texts: str) -> list[Turn]:
    """Alternating, the user first."""
    return [Turn(place % 2 == 0, text) for place, text in enumerate(texts)]


LEAVE = "How many weeks of parental leave do full-time staff get?"

STANDALONE: dict[str, tuple[list[Turn], str, str]] = {
    "another year": (
        turns("What was the revenue in 2023?", "5 million."),
        "And in 2024?",
        "What was the revenue in 2024?",
    ),
    "a year where there was none": (
        turns("What was the revenue?", "5"),
        "and in 2024?",
        "What was the revenue in 2024?",
    ),
    "another group": (
        turns(LEAVE, "16 weeks."),
        "What about part-time staff?",
        "How many weeks of parental leave do full-time staff get, part-time staff?",
    ),
    "a pronoun": (
        turns("What is the torque of the MP-200?", "45 Nm."),
        "What does it weigh?",
        "What does it weigh (MP-200)?",
    ),
    "a pronoun for a topic": (
        turns("Who approves hotel costs?", "The manager."),
        "How long does it take?",
        "How long does it take (hotel costs)?",
    ),
    "what the reply named": (
        turns("Which of the pumps is meant for heating?", "The K80 is the one for heating."),
        "What does its seal kit cost?",
        "What does its seal kit cost (K80, heating)?",
    ),
    "why": (
        turns(LEAVE, "16 weeks."),
        "Why?",
        "How many weeks of parental leave do full-time staff get: Why?",
    ),
    "one candidate": (
        turns("Tell me about the MP-200", "It is a pump."),
        "How heavy is that one?",
        "How heavy is that one (MP-200)?",
    ),
}


@pytest.mark.parametrize("name", STANDALONE)
def test_the_last_question_is_carried_on(name: str) -> None:
    history, message, expected = STANDALONE[name]
    done = rewrite(message, history)
    assert (done.standalone, done.unchanged, done.method) == (expected, False, "rules")


UNCHANGED = [
    LEAVE,
    "Is it possible to carry leave over?",
    "Are there rules that apply to contractors?",
    "Does Merrow reimburse its drivers?",
    "What does this handbook say about travel?",
    "How long does it take to order a pump?",
    "What is part number AB-1200/3?",
    "I lost my card and somebody else borrows on it. Do I have to pay?",
    "Is the trial period shorter in 2025 than it was in 2024?",
    "It's March. What colour must the tag have?",
    "It's freezing and the pump turns slowly by itself. Should I switch it off?",
    "I left my laptop on the train. How fast do I have to tell IT?",
    "An old lady wants to put me in her will. May I accept?",
    "Will it rain tomorrow?",
    "For which people is it especially important to get a vaccine?",
    "When it arrives, where do I put the pump?",
    "Did the last drill meet its target time?",
    "What is the price of the K80?",
    "Where is the canteen?",
]
WITHOUT_HISTORY = [
    "Will they pay for my dog's kennel while I travel?",
    "Do they differ in the same local area?",
]


@pytest.mark.parametrize("message", UNCHANGED)
@pytest.mark.parametrize("history", [[], turns("What about hotels?", "140 euros.")])
def test_what_stands_alone_is_left_alone(message: str, history: list[Turn]) -> None:
    done = rewrite(message, history)
    assert (done.standalone, done.unchanged, done.clarification) == (message, True, "")


@pytest.mark.parametrize("message", WITHOUT_HISTORY)
def test_they_are_whoever_the_documents_are_about(message: str) -> None:
    assert rewrite(message, []).unchanged


def test_a_few_words_are_a_search_and_after_a_question_go_on_from_it() -> None:
    assert rewrite("parental leave part-time", []).unchanged
    assert (
        rewrite("part-time staff?", turns(LEAVE, "16")).standalone
        == f"{LEAVE[:-1]}, part-time staff?"
    )


CLARIFY: dict[str, tuple[list[Turn], str]] = {
    "no history": ([], "How long does it take?"),
    "nothing said": ([], "Why?"),
    "which": ([], "What about that one?"),
    "two candidates": (
        turns("Compare the MP-200 and the MP-300", "Both are pumps."),
        "How heavy is that one?",
    ),
    "of what": ([], "What is the limit?"),
    "a code without the code": ([], "What does the code mean?"),
    "a verb is no noun": ([], "Can I still change it?"),
    "an empty history": (turns(" ", ""), "Does he know?"),
}


@pytest.mark.parametrize("name", CLARIFY)
def test_what_cannot_be_known_is_asked_back(name: str) -> None:
    history, message = CLARIFY[name]
    done = rewrite(message, history)
    assert done.clarification.endswith("?")
    assert done.standalone == ""


def test_the_candidates_are_named() -> None:
    history, message = CLARIFY["two candidates"]
    asked = rewrite(message, history).clarification
    assert "MP-200" in asked
    assert "MP-300" in asked


def test_only_the_last_six_turns_count() -> None:
    history = turns("What is the MP-200?", *["ok"] * 999)
    assert "MP-200" not in rewrite("What does it weigh?", history).standalone


class Model:
    """A model whose reply is given; it counts its calls."""

    provider = "p"
    model = "m"
    local = False

    def __init__(self, reply: str | FolioError) -> None:
        self.reply = reply
        self.prompts: list[str] = []

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion:
        self.prompts.append(prompt)
        if isinstance(self.reply, FolioError):
            raise self.reply
        return Completion(self.reply, Usage("p", "m", 5, 6))


HISTORY = turns("What was the revenue of Merrow in 2023?", "5 million.")


async def by_model(
    reply: Any, message: str = "And in 2024?", history: list[Turn] = HISTORY
) -> tuple[Any, Model]:
    model = Model(reply if isinstance(reply, str | FolioError) else json.dumps(reply))
    return await ModelRewriter(model, 5).rewrite(message, history, Deadline.after(10)), model


async def test_a_model_rewrites() -> None:
    done, model = await by_model({"question": "What was the revenue of Merrow in 2024?"})
    assert (done.standalone, done.method, done.degraded_reason) == (
        "What was the revenue of Merrow in 2024?",
        "m",
        "",
    )
    assert done.usage.output_tokens == 6
    assert json.loads(model.prompts[0])["last_message"] == "And in 2024?"


async def test_a_model_asks_back() -> None:
    done, _ = await by_model({"clarify": "Which company?"})
    assert (done.clarification, done.standalone) == ("Which company?", "")


async def test_without_history_no_model_is_called() -> None:
    done, model = await by_model({"question": "x"}, LEAVE, [])
    assert model.prompts == []
    assert done.unchanged


FAILURES: dict[str, Any] = {
    "an error": Aborted("the model did not finish"),
    "no JSON": "Sure! Here it is.",
    "another form": {"answer": "5"},
    "an empty question": {"question": " "},
    "a lost number": {"question": "What was the revenue of Merrow?"},
    "an invented number": {"question": "What was the revenue of Merrow in 2024 and 2025?"},
    "an essay": {"question": "x" * 10_000},
}


@pytest.mark.parametrize("name", FAILURES)
async def test_where_the_model_fails_the_rules_answer_and_it_says_so(name: str) -> None:
    done, _ = await by_model(FAILURES[name])
    assert done.standalone == "What was the revenue of Merrow in 2024?"
    assert done.method == "rules"
    assert done.degraded_reason
    assert "Merrow" not in done.degraded_reason
    # What was answered was paid for, usable or not.
    assert bool(done.usage.output_tokens) == (name != "an error")
