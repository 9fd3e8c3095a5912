"""JSON over HTTP, for APIs that need no SDK: one try, bounded in time and size."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from services.outbound.failures import from_status, unreachable, unreadable

MAX_BYTES = 4 * 2**20


class Answer(NamedTuple):
    """The decoded JSON, and how many bytes of the address and the body were sent for it."""

    value: Any
    bytes_sent: int


class JsonApi:
    """A server at `base_url`. `name` begins its error messages; `advice` ends them, by HTTP status.

    `headers` go with every request; redirects are not followed. An answer of more than `max_bytes` is not read.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        advice: Mapping[int, str] | None = None,
        max_bytes: int = MAX_BYTES,
        trust_env: bool = True,
    ) -> None:
        self.name = name
        self._advice = advice
        self._max_bytes = max_bytes
        # No timeout of httpx's: each bounds one read, and a server that drips would never meet it.
        self._http = httpx.AsyncClient(
            base_url=base_url.rstrip("/"), headers=headers, timeout=None, trust_env=trust_env
        )

    async def get(
        self, path: str, seconds: float, parameters: Mapping[str, str] | None = None
    ) -> Answer:
        """Raises FolioError, and TimeoutError when `seconds` have passed (see retries.retrying)."""
        return await self._send(self._http.build_request("GET", path, params=parameters), seconds)

    async def post(self, path: str, body: object, seconds: float) -> Answer:
        """Raises FolioError, and TimeoutError when `seconds` have passed (see retries.retrying)."""
        return await self._send(self._http.build_request("POST", path, json=body), seconds)

    async def close(self) -> None:
        """Ends the connections."""
        await self._http.aclose()

    async def _send(self, request: httpx.Request, seconds: float) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                response = await self._http.send(request, stream=True)
                try:
                    body = await self._read(response)
                finally:
                    await response.aclose()
        except httpx.HTTPError:
            raise unreachable(self.name) from None
        try:
            value = json.loads(body)
        # What is nested too deeply for the parser is a RecursionError.
        except (ValueError, RecursionError):
            raise unreadable(self.name, "what is not JSON") from None
        return Answer(value, len(request.url.raw_path) + len(request.content))

    async def _read(self, response: httpx.Response) -> bytes:
        if not response.is_success:
            raise from_status(response.status_code, self.name, response.headers, self._advice)
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > self._max_bytes:
                raise unreadable(self.name, f"more than {self._max_bytes:,} bytes")
        return bytes(body)
