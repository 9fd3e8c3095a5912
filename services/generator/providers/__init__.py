"""Language models: one folder per provider, behind one small interface.

A provider speaks somebody's API: it sends one request and says what comes back. Trying again, deadlines and prices are
models.py's; sentences, citations and what an ending means are answering.py's.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from services.generator.answers import Source
from services.generator.prices import Tokens
from services.generator.providers.anthropic.settings import AnthropicSettings
from services.generator.providers.ollama.settings import OllamaSettings
from services.generator.providers.openai_compatible.settings import OpenAICompatibleSettings
from services.rpc.errors import FolioError

PROVIDERS = {
    "anthropic": "services.generator.providers.anthropic.provider:AnthropicProvider",
    "ollama": "services.generator.providers.ollama.provider:OllamaProvider",
    "openai_compatible": (
        "services.generator.providers.openai_compatible.provider:OpenAICompatibleProvider"
    ),
}


class ProviderSettings(AnthropicSettings, OllamaSettings, OpenAICompatibleSettings):
    """The keys and addresses of all of them, for the generator's settings."""


class Ending(Enum):
    """Why a model stopped, by what its provider documents; any other reason is UNKNOWN."""

    DONE = "done"
    TOKEN_LIMIT = "token_limit"
    CONTEXT_FULL = "context_full"
    REFUSED = "refused"
    FILTERED = "filtered"
    STOP_SEQUENCE = "stop_sequence"
    TOOL = "tool"
    PAUSED = "paused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Text:
    """More text of the answer."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError("the text is not a string")


@dataclass(frozen=True)
class Quote:
    """What the provider says that a document says: verbatim or not, checked by whoever reads it.

    It supports the text between the BlockEnds around it. `document` counts the documents of the request from 0.
    """

    document: int
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class BlockEnd:
    """The quotes since the last BlockEnd support the text since then, and nothing else."""


# Tokens: used since the request was sent; later counts replace earlier ones. Ending: comes once, or not at all where
# the stream was cut.
Delta = Text | Quote | BlockEnd | Tokens | Ending


@dataclass(frozen=True)
class Completed:
    """A text that came whole."""

    text: str
    ending: Ending
    tokens: Tokens


class Provider(Protocol):
    """One per process, made by `create(settings)`. It may raise whatever its SDK raises; `failure` says what it means.

    `label` begins the messages that people read. `local`: the work is done in this process and nothing is sent.
    `quotes`: the model cites by Quotes and BlockEnds; else by [n] markers in its text.
    """

    name: str
    label: str
    local: bool
    quotes: bool

    def stream(
        self, model: str, question: str, documents: Sequence[Source], max_tokens: int
    ) -> AsyncGenerator[Delta, None]:
        """The answer to a question from documents that all hold text."""
        ...

    async def complete(self, model: str, system: str, prompt: str, max_tokens: int) -> Completed:
        """The reply to one prompt, for small tasks."""
        ...

    def failure(self, error: Exception) -> FolioError:
        """What an error of the SDK means, in our words: the server's may repeat a document."""
        ...

    async def close(self) -> None:
        """Ends the connections."""
        ...
