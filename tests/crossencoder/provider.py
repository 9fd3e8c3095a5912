"""A local HTTP server that speaks the providers' wire formats, and fails as told."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What the model of all three providers thinks of a text: its number of letters "e", over ten.
Judge = Callable[[str], float | None]


def letters(text: str) -> float | None:
    return None if text == "nan" else text.count("e") / 10


@dataclass
class Fault:
    """An answer in place of the right one: status, body and headers; or a delay before it."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


class Provider:
    """`requests` are the bodies that came; `faults` are used up one a request, before right answers."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str] = []
        self.faults: list[Fault] = []
        self.alter: Callable[[Any], Any] = lambda answer: answer
        self.info: dict[str, Any] = {
            "model_id": "BAAI/bge-reranker-base",
            "model_sha": "2cfc18c9415c912f9d8155881c133215df768a70",
            "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
            "max_client_batch_size": 4,
            "max_input_length": 512,
            "version": "1.7.0",
        }
        self.url = ""

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        if path == "/rerank" and "texts" in body:
            scores = [(index, letters(text)) for index, text in enumerate(body["texts"])]
            scores.sort(key=lambda item: -(item[1] or 0))
            return [{"index": index, "score": score} for index, score in scores]
        scores = [(index, letters(text)) for index, text in enumerate(body["documents"])]
        scores.sort(key=lambda item: -(item[1] or 0))
        results = [
            {"index": index, "relevance_score": float("nan") if score is None else score}
            for index, score in scores
        ]
        if path == "/v2/rerank":
            return {
                "id": "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
                "results": results,
                "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
            }
        return {
            "object": "list",
            "data": results,
            "model": body["model"],
            "usage": {"total_tokens": 26},
        }


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, provider.info, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            provider.requests.append(body)
            provider.authorizations.append(self.headers.get("authorization", ""))
            if provider.faults:
                fault = provider.faults.pop(0)
                time.sleep(fault.delay_s)
                if fault.status != 200 or fault.body is not None:
                    self._send(fault.status, fault.body, fault.headers)
                    return
            self._send(200, provider.alter(provider.answer(self.path, body)), {})

        def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """The tests' output is not its place."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
