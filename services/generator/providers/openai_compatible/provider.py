"""/v1/chat/completions: one request, what comes back, and what its errors mean."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import openai

from services.generator.answers import Source
from services.generator.instructions import chat
from services.generator.prices import Tokens
from services.generator.providers import Completed, Delta, Ending, Provider, Text
from services.generator.providers.openai_compatible.settings import OpenAICompatibleSettings
from services.outbound.failures import (
    broke_off,
    from_status,
    spend_limit,
    unreachable,
    unreadable,
)
from services.rpc.errors import FailedPrecondition, FolioError, Internal, ResourceExhausted

# The SDK wants a key; servers of one's own mostly want none.
NO_KEY = "none"
_ENDINGS = {
    "stop": Ending.DONE,
    "length": Ending.TOKEN_LIMIT,
    "content_filter": Ending.FILTERED,
    "tool_calls": Ending.TOOL,
    "function_call": Ending.TOOL,
}
_ADVICE = {
    401: "check OPENAI_API_KEY",
    403: "check OPENAI_API_KEY and RAG_MODEL",
    404: "check RAG_MODEL and OPENAI_BASE_URL",
    413: "the sources are too long for it",
}


class OpenAICompatibleProvider:
    """See Provider."""

    name = "openai_compatible"
    label = "the model server"
    local = False
    quotes = False

    def __init__(self, key: str, base_url: str) -> None:
        if not base_url:
            raise FailedPrecondition(
                "set OPENAI_BASE_URL to the server, for example http://host:8000/v1"
            )
        # Without retries and timeouts of the SDK's: its callers have theirs.
        self._sdk = openai.AsyncOpenAI(
            api_key=key or NO_KEY, base_url=base_url, max_retries=0, timeout=None
        )

    @classmethod
    def create(cls, settings: OpenAICompatibleSettings) -> Provider:
        """FailedPrecondition without an address."""
        return cls(settings.openai_api_key.get_secret_value(), settings.openai_base_url)

    async def stream(
        self, model: str, question: str, documents: Sequence[Source], max_tokens: int
    ) -> AsyncGenerator[Delta, None]:
        """See Provider. Only the first choice counts: no more were asked for."""
        ending = None
        async with await self._sdk.chat.completions.create(
            **_request(model, chat(question, documents), max_tokens),
            stream=True,
            stream_options={"include_usage": True},
        ) as chunks:
            async for chunk in chunks:
                if chunk.usage is not None:
                    yield tokens_of(chunk.usage)
                if not chunk.choices:
                    continue
                choice = chunk.choices[0]
                if getattr(choice.delta, "refusal", None):
                    ending = Ending.REFUSED
                elif choice.finish_reason and ending is not Ending.REFUSED:
                    ending = _ENDINGS.get(str(choice.finish_reason), Ending.UNKNOWN)
                if choice.delta.content:
                    yield Text(choice.delta.content)
        if ending is not None:
            yield ending

    async def complete(self, model: str, system: str, prompt: str, max_tokens: int) -> Completed:
        """See Provider."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        done = await self._sdk.chat.completions.create(**_request(model, messages, max_tokens))
        choice = done.choices[0]
        return Completed(
            choice.message.content or "",
            _ENDINGS.get(str(choice.finish_reason), Ending.UNKNOWN),
            tokens_of(done.usage),
        )

    def failure(self, error: Exception) -> FolioError:
        """See Provider."""
        if isinstance(error, openai.APIStatusError):
            # Both are sent with a status of another meaning.
            if error.code in {"insufficient_quota", "billing_hard_limit_reached"}:
                return spend_limit(self.label)
            if error.code == "context_length_exceeded":
                return ResourceExhausted(
                    "the sources are too large for the model", reason="TOO_LARGE"
                )
            return from_status(error.status_code, self.label, error.response.headers, _ADVICE)
        if isinstance(error, openai.APIConnectionError):
            return unreachable(self.label)
        if isinstance(error, openai.APIResponseValidationError):
            return unreadable(self.label)
        if isinstance(error, openai.APIError):
            return broke_off(self.label)
        return Internal(f"the openai SDK failed: {type(error).__name__}")

    async def close(self) -> None:
        """See Provider."""
        await self._sdk.close()


def _request(model: str, messages: list[dict[str, str]], max_tokens: int) -> dict[str, Any]:
    return {"model": model, "max_tokens": max_tokens, "temperature": 0, "messages": messages}


def tokens_of(usage: Any) -> Tokens:
    """The SDK's usage as ours: prompt_tokens includes what came from the cache. What is no number counts nothing."""
    details = getattr(usage, "prompt_tokens_details", None)
    cached = _count(details, "cached_tokens")
    return Tokens(
        input=max(_count(usage, "prompt_tokens") - cached, 0),
        output=_count(usage, "completion_tokens"),
        cached_input=cached,
    )


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, None)
    return value if type(value) is int and value >= 0 else 0
