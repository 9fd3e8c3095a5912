"""Enums as words."""

from folio.common.v1 import query_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.words import word


def test_words_are_the_names_without_their_prefix() -> None:
    assert word(step_pb2.Step, step_pb2.STEP_TOKEN_VECTORS) == "token_vectors"
    assert word(step_pb2.StepStatus, step_pb2.STEP_STATUS_RAN) == "ran"
    assert word(query_pb2.QueryKind, query_pb2.QUERY_KIND_HYDE) == "hyde"
    assert word(step_pb2.Step, 0) == "unspecified"
    assert word(step_pb2.Step, 999) == "999"


def test_the_log_knows_every_outcome_of_a_reply() -> None:
    outcomes = gateway_pb2.AskResponse.DESCRIPTOR.oneofs_by_name["outcome"].fields
    known = {word(query_pb2.Outcome, value) for value in query_pb2.Outcome.values()}
    assert {field.name for field in outcomes} <= known


def test_every_toggle_but_three_is_a_step_or_a_kind_of_query() -> None:
    steps = {word(step_pb2.Step, value) for value in step_pb2.Step.values()}
    kinds = {word(query_pb2.QueryKind, value) for value in query_pb2.QueryKind.values()}
    toggles = {field.name for field in gateway_pb2.StepToggles.DESCRIPTOR.fields}
    assert toggles - steps - kinds == {"judge", "exact", "typos"}
