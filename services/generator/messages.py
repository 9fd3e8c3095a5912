"""Between the wire and the domain: protos in, protos out. Nothing else here."""

from folio.common.v1 import service_pb2
from folio.generator.v1 import generator_pb2 as pb
from services.generator.answers import Finish, Result, Sentence, Source, Span, Usage
from services.generator.quotes import encodable
from services.generator.rewrite import Turn
from services.rpc import tables
from services.rpc.errors import InvalidArgument

FINISHES = {
    Finish.COMPLETE: pb.FINISH_COMPLETE,
    Finish.ABSTAINED: pb.FINISH_ABSTAINED,
    Finish.REFUSED: pb.FINISH_REFUSED,
    Finish.MAX_TOKENS: pb.FINISH_MAX_TOKENS,
    Finish.CUT_SHORT: pb.FINISH_CUT_SHORT,
}


def sources(request: pb.AnswerRequest) -> list[Source]:
    """InvalidArgument where two sources share an index: a citation would name both."""
    found = [
        Source(
            index=source.index,
            title=source.title,
            text=source.text,
            hits=tuple(Span(hit.start, hit.end) for hit in source.hits),
            relevance=min(max(source.relevance, 0.0), 1.0),
            tables=tuple(tables.unpack(table, len(source.text)) for table in source.tables),
        )
        for source in request.sources
    ]
    if len({source.index for source in found}) != len(found):
        raise InvalidArgument.field("sources.index", "two sources have the same index")
    return found


def turns(request: pb.RewriteRequest) -> list[Turn]:
    return [Turn(turn.role == pb.ROLE_USER, turn.text) for turn in request.history]


def usage(spent: Usage) -> service_pb2.Usage:
    return service_pb2.Usage(
        provider=spent.provider,
        model=spent.model,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cached_input_tokens=spent.cached_input_tokens,
        cost_usd=spent.cost_usd,
    )


def sentence(said: Sentence) -> pb.AnswerSentence:
    return pb.AnswerSentence(
        text=encodable(said.text),
        citations=[
            pb.Citation(
                source_index=citation.source_index,
                quote=citation.quote,
                char_start=citation.start,
                char_end=citation.end,
            )
            for citation in said.citations
        ],
    )


def result(made: Result) -> pb.AnswerResult:
    return pb.AnswerResult(
        finish=FINISHES[made.finish],
        sentences=[sentence(said) for said in made.sentences],
        usage=usage(made.usage),
        provider=made.provider,
        model=made.model,
        detail=made.detail,
        confidence=made.confidence,
    )
