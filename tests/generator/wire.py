"""A local HTTP server that speaks providers' documented wire formats, faults included. The SDKs talk to it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One HTTP response. `chunks` are sent one by one, one every `drip_s`; `cut` hangs up within the body."""

    status: int = 200
    chunks: Iterable[bytes] = ()
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    wait_s: float = 0.0
    drip_s: float = 0.0


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Provider:
    """Answers request n with reply n; the last one again and again."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = list(replies)
        self.received: list[Received] = []
        self.url = ""
        # Set once it is known whether the client hung up within an answer.
        self._known = asyncio.Event()
        self._hung_up = False
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def left(self) -> bool:
        """Whether the client left an answer before its end; waits until that is known, or the client never asked."""
        if self.received:
            await self._known.wait()
        return self._hung_up or not self.received

    async def close(self) -> None:
        """Hangs up on everybody."""
        for writer in self._open.values():
            writer.close()
        if self._open:
            await asyncio.wait(self._open)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self._tell(hung_up=True)
        finally:
            writer.close()
            del self._open[task]

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line = (await reader.readline()).decode()
        if not line.strip():
            return False
        method, path, _ = line.split(" ", 2)
        headers: dict[str, str] = {}
        while (raw := (await reader.readline()).decode().strip()) != "":
            name, _, value = raw.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.received.append(Received(method, path, headers, body))
        reply = self.replies[min(len(self.received), len(self.replies)) - 1]
        sent = {"content-type": "application/json", **reply.headers, "transfer-encoding": "chunked"}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode())
        for chunk in reply.chunks:
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
            if reply.drip_s:
                await asyncio.sleep(reply.drip_s)
        if reply.wait_s:
            await self._wait(reader, reply.wait_s)
        if reply.cut:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _wait(self, reader: asyncio.StreamReader, seconds: float) -> None:
        """Sends nothing for a while, and notices a client that hangs up."""
        try:
            async with asyncio.timeout(seconds):
                self._tell(hung_up=await reader.read(1) == b"")
        except TimeoutError:
            self._tell(hung_up=False)

    def _tell(self, *, hung_up: bool) -> None:
        self._hung_up = hung_up
        self._known.set()


@asynccontextmanager
async def provider(*replies: Reply) -> AsyncIterator[Provider]:
    """The server, on a free port."""
    spoken = Provider(replies)
    server = await asyncio.start_server(spoken.handle, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    spoken.url = f"http://{host}:{port}"
    try:
        yield spoken
    finally:
        server.close()
        await spoken.close()


def whole(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON response."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, [json.dumps(value).encode()], named)


def events(*values: dict[str, Any], named: bool = True, **options: Any) -> Reply:
    """Server-sent events; `named` ones carry their type as the event's name, as Claude's do."""
    chunks = [
        (f"event: {value['type']}\n" if named else "").encode()
        + b"data: "
        + json.dumps(value).encode()
        + b"\n\n"
        for value in values
    ]
    return Reply(chunks=chunks, headers={"content-type": "text/event-stream"}, **options)
