"""A model of a provider as everybody here uses it: errors in our words, tries inside the deadline, costs."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol, TypeVar

from services.generator.answers import Source, Usage
from services.generator.prices import Prices, Tokens
from services.generator.providers import PROVIDERS, Delta, Ending, Provider
from services.generator.quotes import encodable
from services.generator.settings import GeneratorSettings
from services.outbound.failures import MALFORMED, is_transport_error, unreachable, unreadable
from services.outbound.retries import retrying
from services.rpc.deadline import Deadline
from services.rpc.errors import Aborted, FailedPrecondition, FolioError
from services.rpc.providers import Worker, load

T = TypeVar("T")


@dataclass(frozen=True)
class Completion:
    """A whole text; one that was cut or refused is an error instead."""

    text: str
    usage: Usage


class Completer(Worker, Protocol):
    """What small tasks (rewrite, expand, judge) need of a model.

    Raises FolioError where the provider fails, refuses, is cut short or takes longer than `seconds`.
    """

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion: ...


class LanguageModel:
    """One model of a provider. Several share the provider, and with it one client and what stops it."""

    def __init__(self, api: Provider, model: str, prices: Prices) -> None:
        self.provider, self.label, self.local = api.name, api.label, api.local
        self.quotes = api.quotes
        self.model = model
        self._api = api
        self._prices = prices

    async def stream(
        self, question: str, documents: Sequence[Source], max_tokens: int
    ) -> AsyncGenerator[Delta, None]:
        """One try. Raises FolioError."""
        try:
            # Closed at once, whoever leaves: the provider's stream must not wait for the garbage collector.
            async with aclosing(
                self._api.stream(self.model, question, documents, max_tokens)
            ) as deltas:
                async for delta in deltas:
                    yield delta
        # SDKs let errors of their HTTP clients and of their parsers through.
        except Exception as error:  # noqa: BLE001
            raise _failure(self._api, error) from None

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion:
        """See Completer."""

        async def once() -> Completion:
            done = await self._api.complete(self.model, system, encodable(prompt), max_tokens)
            if done.ending is not Ending.DONE or not done.text:
                raise Aborted("the model did not finish", reason="INCOMPLETE")
            return Completion(encodable(done.text), self.usage(done.tokens))

        return await called(self._api, once, Deadline.after(seconds))

    def usage(self, tokens: Tokens) -> Usage:
        """Tokens of this model as a reply reports them: what was written to a cache is input."""
        return Usage(
            provider=self.provider,
            model=self.model,
            input_tokens=tokens.input + tokens.cache_write,
            output_tokens=tokens.output,
            cached_input_tokens=tokens.cached_input,
            cost_usd=self._prices.cost(self.model, tokens),
        )


async def called(provider: Provider, call: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
    """The result of a call of the provider's API, tried again where that may help. Raises FolioError."""

    async def once(seconds: float) -> T:
        try:
            return await call()
        except Exception as error:  # noqa: BLE001
            raise _failure(provider, error) from None

    return await retrying(provider.label, once, deadline)


def _failure(provider: Provider, error: Exception) -> FolioError:
    if isinstance(error, FolioError):
        return error
    if isinstance(error, ConnectionError) or is_transport_error(error):
        return unreachable(provider.label)
    if isinstance(error, MALFORMED):
        return unreadable(provider.label)
    return provider.failure(error)


class Models:
    """Opens models. Each provider is made once, when it is first asked for."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self._prices = Prices.read(settings.prices)
        self._settings = settings
        self._providers: dict[str, Provider] = {}

    def provider(self, name: str) -> Provider:
        """FailedPrecondition where it is unknown, its SDK is not installed, or its settings are wrong."""
        if name not in self._providers:
            self._providers[name] = load(PROVIDERS, name).create(self._settings)
        return self._providers[name]

    def open(self, provider: str, model: str) -> LanguageModel:
        """A model of a provider by its id there."""
        api = self.provider(provider)
        if not model:
            raise FailedPrecondition(f"set RAG_MODEL to the id of a model of {api.label}")
        return LanguageModel(api, model, self._prices)

    async def close(self) -> None:
        """Ends the connections of all providers."""
        await asyncio.gather(*(provider.close() for provider in self._providers.values()))
