"""/api/chat: one request, what comes back (a line of JSON for each piece), and what its errors mean.

Source: docs.ollama.com, API: chat, streaming, errors.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

import ollama

from services.generator.answers import Source
from services.generator.instructions import chat
from services.generator.prices import Tokens
from services.generator.providers import Completed, Delta, Ending, Provider, Text
from services.generator.providers.ollama.settings import OllamaSettings
from services.outbound.failures import broke_off, from_status
from services.rpc.errors import FolioError, Internal

_ENDINGS = {"stop": Ending.DONE, "length": Ending.TOKEN_LIMIT}
_ADVICE = {
    401: "check OLLAMA_API_KEY",
    404: "check RAG_MODEL and OLLAMA_HOST, and pull the model there",
}


class OllamaProvider:
    """See Provider."""

    name = "ollama"
    label = "Ollama"
    # A process of its own, which may hand a model's calls on to ollama.com.
    local = False
    quotes = False

    def __init__(self, host: str, key: str = "", context_tokens: int = 16384) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # A redirect would carry the sources elsewhere.
        self._sdk = ollama.AsyncClient(host, headers=headers, follow_redirects=False)
        self._context_tokens = context_tokens

    @classmethod
    def create(cls, settings: OllamaSettings) -> Provider:
        """Whether the server is there shows at the first call."""
        key = settings.ollama_api_key.get_secret_value()
        return cls(settings.ollama_host, key, settings.ollama_context_tokens)

    async def stream(
        self, model: str, question: str, documents: Sequence[Source], max_tokens: int
    ) -> AsyncGenerator[Delta, None]:
        """See Provider."""
        parts = await self._sdk.chat(
            model,
            chat(question, documents),
            stream=True,
            think=False,
            options=self._options(max_tokens),
        )
        called_tool = False
        async with aclosing(cast(AsyncGenerator[ollama.ChatResponse, None], parts)) as lines:
            async for line in lines:
                called_tool = called_tool or bool(line.message.tool_calls)
                if line.message.content:
                    yield Text(line.message.content)
                if line.done:
                    yield _tokens(line)
                if line.done and line.done_reason:
                    yield Ending.TOOL if called_tool else _ending(line)

    async def complete(self, model: str, system: str, prompt: str, max_tokens: int) -> Completed:
        """See Provider."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        done = await self._sdk.chat(model, messages, think=False, options=self._options(max_tokens))
        return Completed(done.message.content or "", _ending(done), _tokens(done))

    def failure(self, error: Exception) -> FolioError:
        """See Provider. An error inside a stream has no status."""
        if not isinstance(error, ollama.ResponseError):
            return Internal(f"the ollama SDK failed: {type(error).__name__}")
        if error.status_code < 0:
            return broke_off(self.label)
        return from_status(error.status_code, self.label, advice=_ADVICE)

    async def close(self) -> None:
        """See Provider."""
        await self._sdk.close()  # type: ignore[no-untyped-call]

    def _options(self, max_tokens: int) -> dict[str, Any]:
        return {"num_predict": max_tokens, "num_ctx": self._context_tokens, "temperature": 0}


def _ending(response: ollama.ChatResponse) -> Ending:
    return _ENDINGS.get(str(response.done_reason), Ending.UNKNOWN)


def _tokens(response: ollama.ChatResponse) -> Tokens:
    return Tokens(
        input=max(response.prompt_eval_count or 0, 0), output=max(response.eval_count or 0, 0)
    )
