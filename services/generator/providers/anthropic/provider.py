"""The Messages API: one request, what comes back, and what its errors mean.

Source: platform.claude.com, API reference: Messages, streaming, errors, citations.
"""

import logging
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import anthropic

from services.generator.answers import Source
from services.generator.providers import Completed, Delta, Ending, Provider
from services.generator.providers.anthropic.events import ENDINGS, EventReader
from services.generator.providers.anthropic.request import continued, request
from services.generator.providers.anthropic.settings import AnthropicSettings
from services.generator.providers.anthropic.usage import TokenCount
from services.outbound.failures import from_status, spend_limit, unreachable, unreadable
from services.rpc.errors import FailedPrecondition, FolioError, Internal

log = logging.getLogger("folio.generator")

# After a spend limit nothing is sent for this long.
SPEND_PAUSE_S = 300.0
# A turn that the API pauses is continued so many times.
MAX_CONTINUATIONS = 3
# The API's own words for what went wrong. Inside a stream they are all there is.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_ADVICE = {
    401: "check ANTHROPIC_API_KEY",
    403: "check ANTHROPIC_API_KEY and RAG_MODEL",
    404: "check RAG_MODEL",
    413: "the sources are too long for it",
}


class AnthropicProvider:
    """See Provider. A spend limit that one call meets stops all of them for a while."""

    name = "anthropic"
    label = "the Claude API"
    local = False
    quotes = True

    def __init__(self, key: str, base_url: str) -> None:
        if not key:
            raise FailedPrecondition("set ANTHROPIC_API_KEY to use the Claude API")
        # Without retries and timeouts of the SDK's: its callers have theirs.
        self._sdk = anthropic.AsyncAnthropic(
            api_key=key, base_url=base_url, max_retries=0, timeout=None
        )
        self._blocked_until = 0.0

    @classmethod
    def create(cls, settings: AnthropicSettings) -> Provider:
        """FailedPrecondition without a key."""
        return cls(settings.anthropic_api_key.get_secret_value(), settings.anthropic_base_url)

    async def stream(
        self, model: str, question: str, documents: Sequence[Source], max_tokens: int
    ) -> AsyncGenerator[Delta, None]:
        """See Provider. A paused turn goes on in another message."""
        sent = request(model, question, documents, max_tokens)
        said, count, ending = "", TokenCount(), None
        for _ in range(1 + MAX_CONTINUATIONS):
            self._check_open()
            count.begin()
            reader = EventReader()
            async with await self._sdk.messages.create(**sent, stream=True) as events:
                async for event in events:
                    for delta in reader.read(event):
                        yield delta
                    if count.note_event(event):
                        yield count.total()
            said += reader.text
            ending = reader.ending
            if ending is not Ending.PAUSED:
                break
            sent = continued(sent, said)
        if ending is not None:
            yield ending

    async def complete(self, model: str, system: str, prompt: str, max_tokens: int) -> Completed:
        """See Provider."""
        message = await self.message(
            {
                "model": model,
                "max_tokens": max_tokens,
                "system": system,
                "messages": [{"role": "user", "content": prompt}],
            }
        )
        count = TokenCount()
        count.begin()
        count.note(message.usage)
        return Completed(
            "".join(block.text for block in message.content if block.type == "text"),
            ENDINGS.get(str(message.stop_reason), Ending.UNKNOWN),
            count.total(),
        )

    async def message(self, sent: dict[str, Any]) -> anthropic.types.Message:
        """One whole message; `sent` are the arguments of messages.create."""
        self._check_open()
        found: anthropic.types.Message = await self._sdk.messages.create(**sent)
        return found

    def failure(self, error: Exception) -> FolioError:
        """See Provider."""
        if isinstance(error, anthropic.APIStatusError):
            if _is_spend_limit(error):
                self._blocked_until = time.monotonic() + SPEND_PAUSE_S
                log.error("the spend limit of the Claude account is reached")
                return spend_limit(self.label)
            status = _STATUS.get(str(error.type), error.status_code)
            return from_status(status, self.label, error.response.headers, _ADVICE)
        if isinstance(error, anthropic.APIConnectionError):
            return unreachable(self.label)
        if isinstance(error, anthropic.APIResponseValidationError):
            return unreadable(self.label)
        return Internal(f"the Claude SDK failed: {type(error).__name__}")

    async def close(self) -> None:
        """See Provider."""
        await self._sdk.close()

    def _check_open(self) -> None:
        if time.monotonic() < self._blocked_until:
            raise spend_limit(self.label)


def _is_spend_limit(error: anthropic.APIStatusError) -> bool:
    return (error.error_code or "").endswith("spend_limit_reached") or error.type == "billing_error"
