"""One GET of a search server's JSON, bounded in time and size."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx

from services.generator.retries import retry_after
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    ResourceExhausted,
    Unavailable,
)

MAX_BYTES = 4 * 2**20


class JsonServer:
    """A server at `base_url`; `headers` go with every request."""

    def __init__(self, name: str, base_url: str, headers: Mapping[str, str] | None = None) -> None:
        self._name = name
        self._http = httpx.AsyncClient(base_url=base_url, headers=headers, follow_redirects=False)

    async def get(
        self, path: str, parameters: Mapping[str, str], deadline: Deadline
    ) -> tuple[dict[str, Any], int]:
        """The JSON object, and the bytes of the address that was sent. Raises FolioError."""
        request = self._http.build_request("GET", path, params=parameters, timeout=deadline.rest())
        try:
            async with asyncio.timeout(deadline.rest()):
                response = await self._http.send(request, stream=True)
                try:
                    self._check(response)
                    body = await self._read(response)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            raise DeadlineExceeded(
                f"{self._name} did not answer in the time that is left"
            ) from None
        except httpx.HTTPError:
            raise Unavailable(f"{self._name} cannot be reached") from None
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Internal(f"{self._name} sent no JSON object; is its JSON format on?")
        return found, len(request.url.raw_path)

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if status in {401, 403}:
            raise FailedPrecondition(f"{self._name} does not accept the request ({status})")
        if status == 429:
            raise ResourceExhausted(
                f"{self._name} allows no more searches now",
                retry_after_s=retry_after(response.headers),
            )
        if status >= 500:
            raise Unavailable(f"{self._name} fails ({status})")
        if status != 200:
            raise Internal(f"{self._name} refused the request ({status})")

    async def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_BYTES:
                raise Internal(f"{self._name} sent more than {MAX_BYTES} bytes")
        return bytes(body)
