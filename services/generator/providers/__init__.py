"""Language models: one folder per provider. FOLIO_GENERATOR names who writes the answer; LLMS do small tasks too."""

from dataclasses import dataclass
from typing import Protocol

from services.generator.answers import Usage

GENERATORS = {
    "extractive": "services.generator.extractive.generator:ExtractiveGenerator",
    "anthropic": "services.generator.providers.anthropic.generator:AnthropicGenerator",
    "openai_compatible": (
        "services.generator.providers.openai_compatible.generator:OpenAICompatibleGenerator"
    ),
}
# By the name of the generator: the same provider does both.
LLMS = {
    "anthropic": "services.generator.providers.anthropic.llm:AnthropicLlm",
    "openai_compatible": "services.generator.providers.openai_compatible.llm:OpenAICompatibleLlm",
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
