"""python -m services.crossencoder: settings, model, serve. Refuses to start without a model."""

import asyncio

from services.crossencoder.models import SCORERS, PairScorer
from services.crossencoder.reranker import PairReranker
from services.crossencoder.servicer import CrossEncoderServicer
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition
from services.rpc.providers import load
from services.rpc.serve import run_service, serve


def open_scorer(settings: CrossEncoderSettings) -> PairScorer:
    """The configured model. FailedPrecondition where there is none: a pretended score helps nobody."""
    name = settings.provider or ("tei" if settings.reranker_url else "")
    if not name:
        raise FailedPrecondition(
            "no cross-encoder is configured; set RERANKER_URL or FOLIO_CROSSENCODER_PROVIDER,"
            " or do not run this stage (replies then say that it was skipped)"
        )
    scorer: PairScorer = load(SCORERS, name).create(settings)
    return scorer


async def main() -> None:
    settings = CrossEncoderSettings.load()
    scorer = await asyncio.to_thread(open_scorer, settings)
    reranker = PairReranker(scorer, settings.attempts, settings.attempt_seconds)
    servicer = CrossEncoderServicer(reranker, settings)
    await serve(
        settings, "crossencoder", servicer.register, warm_up=scorer.start, close=scorer.close
    )


if __name__ == "__main__":
    run_service(main())
