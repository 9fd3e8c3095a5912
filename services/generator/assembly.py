"""Puts the generator together: models, the parts that use them, the servicer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from services.generator.answering import ModelGenerator
from services.generator.answers import Generator
from services.generator.expand import Expander
from services.generator.expand.model import ModelExpander
from services.generator.expand.synonyms import SynonymExpander, SynonymFolder
from services.generator.fallback import PATIENCE, FallbackGenerator
from services.generator.judges import JUDGES
from services.generator.models import LanguageModel, Models
from services.generator.providers import PROVIDERS
from services.generator.rewrite import Rewriter
from services.generator.rewrite.model import ModelRewriter
from services.generator.rewrite.rules import RulesRewriter
from services.generator.servicer import GeneratorServicer, Parts
from services.generator.settings import GeneratorSettings
from services.generator.websearch import WEB_SEARCHES
from services.rpc.errors import FailedPrecondition
from services.rpc.limits import Gate
from services.rpc.providers import load

# Who may answer: what FOLIO_GENERATOR and FOLIO_GENERATOR_FALLBACK name.
GENERATORS = {
    "extractive": "services.generator.extractive.generator:ExtractiveGenerator",
    **PROVIDERS,
}


@dataclass(frozen=True)
class Service:
    """The servicer, and the parts that do its work."""

    parts: Parts
    servicer: GeneratorServicer


@asynccontextmanager
async def open_service(settings: GeneratorSettings) -> AsyncIterator[Service]:
    """All that a generator needs, closed at the end. FailedPrecondition names the setting that is wrong."""
    async with AsyncExitStack() as stack:
        models = Models(settings)
        stack.push_async_callback(models.close)
        # In a thread: the embedded model takes seconds to load.
        parts = await asyncio.to_thread(assemble, settings, models)
        if parts.web is not None:
            stack.push_async_callback(parts.web.close)
        gate = Gate(settings.max_concurrency, settings.max_queue)
        yield Service(parts, GeneratorServicer(parts, gate))


def assemble(settings: GeneratorSettings, models: Models) -> Parts:
    """The parts that the settings name; `models` gives all of them the same client of a provider."""
    model = (
        models.open(settings.generator, settings.model) if settings.generator in PROVIDERS else None
    )
    fallback = _fallback(settings, models)
    return Parts(
        generator=_generator(settings, model, fallback),
        fallback=fallback,
        rewriter=_rewriter(settings, model),
        expander=_expander(settings, model),
        judge=load(JUDGES, settings.judge, "FOLIO_JUDGE").create(settings, models)
        if settings.judge
        else None,
        web=load(WEB_SEARCHES, settings.web_search, "FOLIO_WEB_SEARCH").create(settings, models)
        if settings.web_search
        else None,
        rewrites_with_model=model is not None and settings.rewrite_with_model,
        max_output_tokens=settings.max_output_tokens,
    )


def _generator(
    settings: GeneratorSettings, model: LanguageModel | None, fallback: Generator | None
) -> Generator:
    if model is None:
        generator: Generator = load(GENERATORS, settings.generator, "FOLIO_GENERATOR").create(
            settings
        )
        return generator
    if fallback is None:
        return ModelGenerator(model)
    return FallbackGenerator(ModelGenerator(model, PATIENCE), fallback)


def _fallback(settings: GeneratorSettings, models: Models) -> Generator | None:
    """FailedPrecondition where it could not help."""
    name, _, model = settings.generator_fallback.partition(":")
    if not name:
        return None
    if settings.generator not in PROVIDERS:
        raise FailedPrecondition(
            "FOLIO_GENERATOR_FALLBACK needs FOLIO_GENERATOR to be a language model, one of: "
            + ", ".join(sorted(PROVIDERS))
        )
    model = model or settings.model
    if (name, model) == (settings.generator, settings.model):
        raise FailedPrecondition("FOLIO_GENERATOR_FALLBACK names the generator itself")
    if name in PROVIDERS:
        return ModelGenerator(models.open(name, model))
    generator: Generator = load(GENERATORS, name, "FOLIO_GENERATOR_FALLBACK").create(settings)
    return generator


def _rewriter(settings: GeneratorSettings, model: LanguageModel | None) -> Rewriter:
    if model is None or not settings.rewrite_with_model:
        return RulesRewriter()
    return ModelRewriter(model, settings.model_timeout_seconds)


def _expander(settings: GeneratorSettings, model: LanguageModel | None) -> Expander:
    synonyms = SynonymExpander(SynonymFolder(settings.synonyms_dir))
    if model is None:
        return synonyms
    return ModelExpander(synonyms, model, settings.model_timeout_seconds)
