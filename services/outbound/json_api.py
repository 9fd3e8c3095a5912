"""JSON over HTTP, for APIs that need no SDK: one try, bounded in size; `retries.retrying` bounds its time."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import httpx

from services.outbound.failures import from_status, unreachable, unreadable
from services.rpc.errors import FolioError

MAX_BYTES = 4 * 2**20

# What a status means in one call, where its documentation says more than the table; None for the table.
Reads = Callable[[int], FolioError | None]


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
        # No timeout of httpx's: each bounds one read, and a server that drips would never meet it. Nor one around a
        # call here: two that end together cancel twice, and httpcore leaves the connection open.
        self._http = httpx.AsyncClient(
            base_url=base_url.rstrip("/"), headers=headers, timeout=None, trust_env=trust_env
        )

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Answer:
        """Raises FolioError."""
        return await self._send(self._http.build_request("GET", path, params=parameters))

    async def post(self, path: str, body: object, reads: Reads | None = None) -> Answer:
        """As `get`. `reads` is asked before the table what a status that is no success means."""
        return await self._send(self._http.build_request("POST", path, json=body), reads)

    async def close(self) -> None:
        """Ends the connections."""
        await self._http.aclose()

    async def _send(self, request: httpx.Request, reads: Reads | None = None) -> Answer:
        try:
            response = await self._http.send(request, stream=True)
            try:
                self._check(response, reads)
                body = await self._read(response)
            finally:
                await response.aclose()
        except httpx.DecodingError:
            raise unreadable(self.name, "a body that cannot be decompressed") from None
        except httpx.HTTPError:
            raise unreachable(self.name) from None
        try:
            value = json.loads(body)
        # What is nested too deeply for the parser is a RecursionError.
        except (ValueError, RecursionError):
            raise unreadable(self.name, "something that is not JSON") from None
        return Answer(value, len(request.url.raw_path) + len(request.content))

    def _check(self, response: httpx.Response, reads: Reads | None) -> None:
        if response.is_success:
            return
        if reads and (error := reads(response.status_code)):
            raise error
        raise from_status(response.status_code, self.name, response.headers, self._advice)

    async def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > self._max_bytes:
                raise unreadable(self.name, f"more than {self._max_bytes:,} bytes")
        return bytes(body)
