"""Token vectors for the parts that work in a thread: from a model of our own, or from the encoder."""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import ParamSpec, TypeVar

from services.generator.extractive.features import Encoder
from services.generator.settings import GeneratorSettings
from services.minilm.encoder import TextEncoder
from services.minilm.model import MiniLM, TokenVectors
from services.minilm.remote import RemoteEncoder
from services.minilm.settings import MiniLMSettings
from services.rpc.lanes import Lane

# Where the weights' authors cut texts, and what the fitted coefficients are for.
MAX_TOKENS = 256

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_loop: contextvars.ContextVar[asyncio.AbstractEventLoop] = contextvars.ContextVar("loop")


async def in_thread(
    executor: Executor,
    function: Callable[Arguments, Result],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    """The function's result. It has the identity and the deadline of the call that is being served."""
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    context.run(_loop.set, loop)
    work = functools.partial(context.run, function, *arguments, **named)
    return await loop.run_in_executor(executor, work)


class WaitingEncoder:
    """See Encoder. Only for functions that `in_thread` runs."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    def encode(self, texts: Sequence[str], max_tokens: int | None = None) -> list[TokenVectors]:
        work = self._encoder.encode(texts, max_tokens or MAX_TOKENS, Lane.DOCUMENT)
        return asyncio.run_coroutine_threadsafe(work, _loop.get()).result()


def open_encoder(settings: GeneratorSettings) -> Encoder:
    """The encoder at FOLIO_ENCODER_ADDRESS, or the model here. Blocks."""
    minilm = MiniLMSettings()
    if minilm.encoder:
        return WaitingEncoder(RemoteEncoder(minilm.encoder, settings))
    return MiniLM.load(minilm, max_tokens=MAX_TOKENS)
