"""Calls /v1/chat/completions and says what went wrong in our words: never the server's."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import openai

from services.generator.retries import is_transport_error, pause, retry_after, retrying
from services.generator.settings import GeneratorSettings
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
    Unavailable,
)

# The SDK wants a key; servers of one's own mostly want none.
NO_KEY = "none"
_FINAL = {
    401: "the key in OPENAI_API_KEY is not accepted",
    402: "the account has no credit",
    403: "the key in OPENAI_API_KEY may not use this model",
    404: "the server in OPENAI_BASE_URL does not know the model in RAG_MODEL",
}


class ChatClient:
    """One per process. Retries before the first piece of text, never after."""

    def __init__(self, key: str, base_url: str) -> None:
        if not base_url:
            raise FailedPrecondition(
                "set OPENAI_BASE_URL to the server, for example http://host:8000/v1"
            )
        self._sdk = openai.AsyncOpenAI(api_key=key or NO_KEY, base_url=base_url, max_retries=0)

    @classmethod
    def of(cls, settings: GeneratorSettings) -> "ChatClient":
        return cls(settings.openai_api_key.get_secret_value(), settings.openai_base_url)

    async def completion(
        self, request: dict[str, Any], deadline: Deadline
    ) -> openai.types.chat.ChatCompletion:
        """One whole completion. Raises FolioError."""

        async def once() -> openai.types.chat.ChatCompletion:
            try:
                async with asyncio.timeout(deadline.rest()):
                    found: openai.types.chat.ChatCompletion = (
                        await self._sdk.chat.completions.create(**request, timeout=deadline.rest())
                    )
                return found
            except FolioError:
                raise
            # The SDK lets errors of its HTTP client and of its parsers through.
            except Exception as error:  # noqa: BLE001
                raise failure(error) from None

        return await retrying(once, deadline)

    async def chunks(
        self, request: dict[str, Any], deadline: Deadline
    ) -> AsyncGenerator[openai.types.chat.ChatCompletionChunk, None]:
        """The chunks of one streamed completion. Raises FolioError; nothing is tried again once text has come."""
        attempt = 0
        begun = False
        while True:
            attempt += 1
            stream = None
            try:
                async with asyncio.timeout(deadline.rest()):
                    stream = await self._sdk.chat.completions.create(
                        **request,
                        stream=True,
                        stream_options={"include_usage": True},
                        timeout=deadline.rest(),
                    )
                iterator = stream.__aiter__()
                while True:
                    try:
                        async with asyncio.timeout(deadline.rest()):
                            chunk = await anext(iterator)
                    except StopAsyncIteration:
                        return
                    begun = begun or any(choice.delta.content for choice in chunk.choices or ())
                    yield chunk
            # The SDK lets errors of its HTTP client and of its parsers through.
            except Exception as error:  # noqa: BLE001
                failed = error if isinstance(error, FolioError) else failure(error)
                if begun:
                    raise failed from None
                await pause(attempt, failed, deadline)
            finally:
                if stream is not None:
                    await stream.close()


def failure(error: Exception) -> FolioError:
    """The SDK's error as ours."""
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return DeadlineExceeded("the model server did not answer in the time that is left")
    if isinstance(error, openai.APIStatusError):
        return _status_failure(error)
    if isinstance(error, openai.APIConnectionError) or is_transport_error(error):
        return Unavailable("the model server cannot be reached, or broke off")
    if isinstance(error, openai.APIResponseValidationError | ValueError):
        return Internal("the model server sent what is not a chat completion")
    if isinstance(error, openai.APIError):
        # An error inside a stream: it has no status.
        return Unavailable("the model server failed while it answered")
    return Internal(f"the openai SDK failed: {type(error).__name__}")


def _status_failure(error: openai.APIStatusError) -> FolioError:
    status = error.status_code
    if error.code in {"insufficient_quota", "billing_hard_limit_reached"}:
        return FailedPrecondition("the account's spend limit is reached", reason="SPEND_LIMIT")
    if status in _FINAL:
        return FailedPrecondition(_FINAL[status])
    if status == 413 or error.code == "context_length_exceeded":
        return ResourceExhausted("the sources are too large for the model", reason="TOO_LARGE")
    if status in {408, 409, 429} or status >= 500:
        return Unavailable(
            f"the model server is overloaded or failing ({status})",
            reason="PROVIDER_UNAVAILABLE",
            retry_after_s=retry_after(error.response.headers),
        )
    return Internal(f"the model server refused the request ({status})")
