"""Calls the Messages API and says what went wrong in our words: never the server's, which may repeat a document.

Source: platform.claude.com, API reference: Messages, streaming, errors.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from typing import Any

import anthropic

from services.generator.settings import GeneratorSettings
from services.outbound.failures import from_status, is_transport_error, unreachable, unreadable
from services.outbound.retries import pause, retrying
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
)

log = logging.getLogger("folio.generator")

# After a spend limit nothing is sent for this long.
SPEND_PAUSE_S = 300.0
_API = "the Claude API"
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


class ClaudeClient:
    """One per process. Retries before the first event of content, never after."""

    def __init__(self, key: str, base_url: str) -> None:
        if not key:
            raise FailedPrecondition("set ANTHROPIC_API_KEY to use the Claude API")
        self._sdk = anthropic.AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0)
        self._blocked_until = 0.0

    @classmethod
    def of(cls, settings: GeneratorSettings) -> "ClaudeClient":
        return cls(settings.anthropic_api_key.get_secret_value(), settings.anthropic_base_url)

    async def message(self, request: dict[str, Any], deadline: Deadline) -> anthropic.types.Message:
        """One whole message. Raises FolioError."""

        async def once(seconds: float) -> anthropic.types.Message:
            self._check_open()
            try:
                found: anthropic.types.Message = await self._sdk.messages.create(
                    **request, timeout=seconds
                )
                return found
            # The SDK lets errors of its HTTP client and of its parsers through.
            except Exception as error:  # noqa: BLE001
                raise self._failure(error) from None

        return await retrying(_API, once, deadline)

    async def events(
        self, request: dict[str, Any], deadline: Deadline
    ) -> AsyncGenerator[anthropic.types.RawMessageStreamEvent, None]:
        """The events of one streamed message. Raises FolioError; nothing is tried again once content has come."""
        attempt = 0
        begun = False
        while True:
            attempt += 1
            self._check_open()
            stream = None
            try:
                async with asyncio.timeout(deadline.rest()):
                    stream = await self._sdk.messages.create(
                        **request, stream=True, timeout=deadline.rest()
                    )
                iterator = stream.__aiter__()
                while True:
                    try:
                        async with asyncio.timeout(deadline.rest()):
                            event = await anext(iterator)
                    except StopAsyncIteration:
                        return
                    begun = begun or event.type.startswith("content_block")
                    yield event
            # The SDK lets errors of its HTTP client and of its parsers through.
            except Exception as error:  # noqa: BLE001
                failure = error if isinstance(error, FolioError) else self._failure(error)
                if begun:
                    raise failure from None
                await pause(attempt, failure, deadline)
            finally:
                if stream is not None:
                    await stream.close()

    def _check_open(self) -> None:
        if time.monotonic() < self._blocked_until:
            raise FailedPrecondition(
                "the account's spend limit is reached; raise it or wait", reason="SPEND_LIMIT"
            )

    def _failure(self, error: Exception) -> FolioError:
        if isinstance(error, anthropic.APIStatusError) and _is_spend_limit(error):
            self._blocked_until = time.monotonic() + SPEND_PAUSE_S
            log.error("the spend limit of the Claude account is reached")
            return FailedPrecondition(
                "the account's spend limit is reached; raise it or wait", reason="SPEND_LIMIT"
            )
        return failure(error)


def _is_spend_limit(error: anthropic.APIStatusError) -> bool:
    return (error.error_code or "").endswith("spend_limit_reached") or error.type == "billing_error"


def failure(error: Exception) -> FolioError:
    """The SDK's error as ours."""
    if isinstance(error, anthropic.APITimeoutError | TimeoutError):
        return DeadlineExceeded("the Claude API did not answer in the time that is left")
    if isinstance(error, anthropic.APIStatusError):
        return _status_failure(error)
    if isinstance(error, anthropic.APIConnectionError) or is_transport_error(error):
        return unreachable(_API)
    if isinstance(error, anthropic.APIResponseValidationError | ValueError):
        return unreadable(_API)
    return Internal(f"the Claude SDK failed: {type(error).__name__}")


def _status_failure(error: anthropic.APIStatusError) -> FolioError:
    status = _STATUS.get(str(error.type), error.status_code)
    return from_status(status, _API, error.response.headers, _ADVICE)
