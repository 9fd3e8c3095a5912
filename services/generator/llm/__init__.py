"""Language models for small tasks (rewrite, expand, judge): one call, one short text back."""

from dataclasses import dataclass
from typing import Protocol

from services.generator.answers import Usage

# By the name of the generator: the same provider does both.
LLMS = {
    "anthropic": "services.generator.llm.anthropic:AnthropicLlm",
    "openai_compatible": "services.generator.llm.openai_compatible:OpenAICompatibleLlm",
}


@dataclass(frozen=True)
class Completion:
    """A whole text; one that was cut or refused is an error instead."""

    text: str
    usage: Usage


class Llm(Protocol):
    """Raises FolioError where the provider fails, refuses, is cut short or takes longer than `seconds`."""

    model: str

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion: ...
