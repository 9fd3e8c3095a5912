"""From the settings to the parts that do the work."""

from services.generator.expand import Expander
from services.generator.expand.synonyms import SynonymExpander, SynonymFolder
from services.generator.judges import JUDGES
from services.generator.providers import GENERATORS, LLMS, Llm
from services.generator.rewrite import Rewriter
from services.generator.rewrite.rules import RulesRewriter
from services.generator.servicer import Parts
from services.generator.settings import GeneratorSettings
from services.generator.websearch import WEB_SEARCHES
from services.rpc.providers import load


def assemble(settings: GeneratorSettings) -> Parts:
    """Loads models and checks keys. FailedPrecondition names the setting that is wrong."""
    llm = load(LLMS, settings.generator).create(settings) if settings.generator in LLMS else None
    return Parts(
        generator=load(GENERATORS, settings.generator).create(settings),
        rewriter=_rewriter(settings, llm),
        expander=_expander(settings, llm),
        judge=load(JUDGES, settings.judge).create(settings) if settings.judge else None,
        web=load(WEB_SEARCHES, settings.web_search).create(settings)
        if settings.web_search
        else None,
        rewrites_with_model=llm is not None and settings.rewrite_with_model,
        max_output_tokens=settings.max_output_tokens,
    )


def _rewriter(settings: GeneratorSettings, llm: Llm | None) -> Rewriter:
    if llm is None or not settings.rewrite_with_model:
        return RulesRewriter()
    from services.generator.rewrite.model import ModelRewriter

    return ModelRewriter(llm, settings.model_timeout_seconds)


def _expander(settings: GeneratorSettings, llm: Llm | None) -> Expander:
    synonyms = SynonymExpander(SynonymFolder(settings.synonyms_dir))
    if llm is None:
        return synonyms
    from services.generator.expand.model import ModelExpander

    return ModelExpander(synonyms, llm, settings.model_timeout_seconds)
