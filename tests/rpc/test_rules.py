"""The limits that code takes from the contract are those that the interceptor holds requests to."""

import pytest
from google.protobuf.message import Message

from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from services.rpc import rules
from services.rpc.errors import InvalidArgument
from services.rpc.interceptors import check


def spans(count: int) -> Message:
    span = retriever_pb2.QuoteSpan(document_id=1, char_start=0, char_end=1)
    return retriever_pb2.LocateQuotesRequest(spans=[span] * count)


def test_the_most_items_pass_and_one_more_does_not() -> None:
    most = rules.max_items(retriever_pb2.LocateQuotesRequest, "spans")
    check(spans(most))
    with pytest.raises(InvalidArgument):
        check(spans(most + 1))


def test_the_longest_text_passes_and_one_byte_more_does_not() -> None:
    most = rules.max_bytes(generator_pb2.SearchWebRequest, "query")
    check(generator_pb2.SearchWebRequest(query="x" * most, limit=1))
    with pytest.raises(InvalidArgument):
        check(generator_pb2.SearchWebRequest(query="x" * (most + 1), limit=1))


def test_the_texts_of_a_repeated_field_are_bounded_one_by_one() -> None:
    most = rules.max_bytes(generator_pb2.JudgeRequest, "evidence")
    check(generator_pb2.JudgeRequest(sentence="s", evidence=["x" * most] * 2))
    with pytest.raises(InvalidArgument):
        check(generator_pb2.JudgeRequest(sentence="s", evidence=["x" * (most + 1)]))


def test_the_greatest_number_passes_and_one_more_does_not() -> None:
    most = rules.most(generator_pb2.ExpandRequest, "max_variants")
    check(generator_pb2.ExpandRequest(question="q", max_variants=most))
    with pytest.raises(InvalidArgument):
        check(generator_pb2.ExpandRequest(question="q", max_variants=most + 1))


def test_a_rule_that_is_not_there_is_missed_at_once() -> None:
    with pytest.raises(LookupError, match=r"SearchWebRequest\.query has no rule lte"):
        rules.most(generator_pb2.SearchWebRequest, "query")
