"""Calls /v1/chat/completions and says what went wrong in our words: never the server's."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import openai

from services.generator.settings import GeneratorSettings
from services.outbound.failures import (
    broke_off,
    from_status,
    is_transport_error,
    unreachable,
    unreadable,
)
from services.outbound.retries import pause, retrying
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
)

# The SDK wants a key; servers of one's own mostly want none.
NO_KEY = "none"
_SERVER = "the model server"
_ADVICE = {
    401: "check OPENAI_API_KEY",
    403: "check OPENAI_API_KEY and RAG_MODEL",
    404: "check RAG_MODEL and OPENAI_BASE_URL",
    413: "the sources are too long for it",
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

        async def once(seconds: float) -> openai.types.chat.ChatCompletion:
            try:
                found: openai.types.chat.ChatCompletion = await self._sdk.chat.completions.create(
                    **request, timeout=seconds
                )
                return found
            # The SDK lets errors of its HTTP client and of its parsers through.
            except Exception as error:  # noqa: BLE001
                raise failure(error) from None

        return await retrying(_SERVER, once, deadline)

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
        return unreachable(_SERVER)
    if isinstance(error, openai.APIResponseValidationError | ValueError):
        return unreadable(_SERVER)
    if isinstance(error, openai.APIError):
        return broke_off(_SERVER)
    return Internal(f"the openai SDK failed: {type(error).__name__}")


def _status_failure(error: openai.APIStatusError) -> FolioError:
    # Both are sent with a status of another meaning.
    if error.code in {"insufficient_quota", "billing_hard_limit_reached"}:
        return FailedPrecondition("the account's spend limit is reached", reason="SPEND_LIMIT")
    if error.code == "context_length_exceeded":
        return ResourceExhausted("the sources are too large for the model", reason="TOO_LARGE")
    return from_status(error.status_code, _SERVER, error.response.headers, _ADVICE)
