"""What an answer must be before anyone sees it: cited, whole, checked; streamed and unary alike."""

from typing import Any

import pytest

from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from services.gateway.citations import link
from services.rpc.errors import Unavailable
from tests.gateway.asking import DEGRADED, RAN, ask, events, report
from tests.gateway.script import GOOD, TEXT, failing, sentence
from tests.gateway.suite import Suite


async def test_an_answer_cites_document_page_and_place(suite: Suite) -> None:
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered", reply
    (said,) = reply.answered.sentences
    (cited,) = said.citations
    assert cited.quote == "Full-time staff are entitled to 16 weeks of paid parental leave."
    assert (cited.page, cited.page_label) == (15, "xiv")
    assert cited.link == "staff%20handbook.pdf#page=16"
    assert TEXT[cited.char_start - 1000 : cited.char_end - 1000] == cited.quote
    assert (cited.document_id, cited.chunk_id, cited.sha256) == (1, 1, "ab" * 32)
    assert cited.located
    assert cited.regions[0].rectangles[0].right == 0.9
    assert reply.generator == "extractive"
    assert suite.script.names() == [
        "generator.Rewrite",
        "retriever.GetVocabulary",
        "generator.Expand",
        "retriever.Search",
        "colbert.Rerank",
        "retriever.GetPassages",
        "generator.Answer",
        "retriever.LocateQuotes",
        "retriever.LogQuery",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2023/minutes/january.pdf", "2023/minutes/january.pdf#page=3"),
        ("2024/minutes/january.pdf", "2024/minutes/january.pdf#page=3"),
        ("January 2024.txt", "January%202024.txt"),
        # No link leads out of the folder or to another host.
        ("//evil.example/a.txt", "evil.example/a.txt"),
        ("../../etc/a.txt", "etc/a.txt"),
        ("javascript:alert(1).txt", "javascript%3Aalert%281%29.txt"),
    ],
)
def test_a_link_keeps_the_folder(name: str, expected: str) -> None:
    assert link(name, 2) == expected


async def test_streamed_and_unary_answers_are_equal(suite: Suite) -> None:
    unary = await suite.call("Ask", ask(request_id="same"))
    streamed = await events(suite, gateway_pb2.StreamAskRequest(request=ask(request_id="same")))
    kinds = [event.WhichOneof("event") for event in streamed]
    assert kinds[0] == "started"
    assert kinds[-1] == "final"
    assert kinds.index("rewritten") < kinds.index("sources") < kinds.index("sentence")
    final = streamed[-1].final
    assert [event.sentence for event in streamed if event.HasField("sentence")] == list(
        final.answered.sentences
    )
    assert [event.step.step for event in streamed if event.HasField("step")] == [
        report.step for report in final.steps
    ]
    for reply in (unary, final):
        reply.elapsed_ms = 0
        for made in reply.steps:
            made.elapsed_ms = 0
    assert unary == final


async def test_sentences_are_held_until_the_whole_answer_has_passed(suite: Suite) -> None:
    suite.script.sentences = [GOOD, sentence("They also get 99 days of leave.")]
    held = await events(suite, gateway_pb2.StreamAskRequest(request=ask()))
    assert not [event for event in held if event.HasField("sentence")]
    assert held[-1].final.WhichOneof("outcome") == "unverified"
    shown = await events(
        suite, gateway_pb2.StreamAskRequest(request=ask(), show_unverified_progress=True)
    )
    assert [event.sentence.text for event in shown if event.HasField("sentence")] == [GOOD.text]
    assert shown[-1].final.WhichOneof("outcome") == "unverified"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([], "the answer is empty"),
        ([sentence("Staff get 16 weeks.", " ​ ")], "a quote is not in the source"),
        ([sentence("Staff get 16 weeks.", "16 weeks", source=1)], "a source that does not exist"),
        (
            [sentence("Staff get 16 weeks.", "16 weeks", source=10**9)],
            "a source that does not exist",
        ),
        ([sentence("Staff get 16 weeks.", "sixteen weeks")], "a quote is not in the source"),
        ([sentence("Staff get 20 weeks.", "16 weeks of paid parental leave")], "number"),
        ([sentence("Use the seal PX-999.", "Replace the seal PX-204")], "code"),
        ([sentence("Run the pump dry.", "Do not run the pump dry.")], "denies"),
        ([sentence("Staff get 16 weeks.")], "without a source"),
    ],
)
async def test_an_answer_that_fails_its_check_is_withheld(
    suite: Suite, bad: list[generator_pb2.AnswerSentence], reason: str
) -> None:
    suite.script.sentences = bad
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "unverified", reply
    assert any(reason in given for given in reply.unverified.reasons), reply.unverified
    assert reply.sources
    assert not reply.answered.sentences


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        (generator_pb2.FINISH_ABSTAINED, "abstained"),
        (generator_pb2.FINISH_REFUSED, "refused"),
        (generator_pb2.FINISH_MAX_TOKENS, "unverified"),
        (generator_pb2.FINISH_CUT_SHORT, "unavailable"),
        (generator_pb2.FINISH_UNSPECIFIED, "unavailable"),
    ],
)
async def test_only_a_whole_answer_is_one(suite: Suite, finish: Any, outcome: str) -> None:
    suite.script.finish = finish
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == outcome


async def test_a_result_that_is_not_what_was_streamed_is_withheld(suite: Suite) -> None:
    async def other(request: Any) -> Any:
        return generator_pb2.AnswerResult(
            finish=generator_pb2.FINISH_COMPLETE, sentences=[sentence("Something else.")]
        )

    suite.script.on["generator.Answer"] = other
    reply = await suite.call("Ask", ask())
    assert reply.unverified.reasons == ["the generator's result is not what it streamed"]
    assert report(reply, "generate").status == DEGRADED


async def test_an_answer_cut_at_its_limit_was_made_and_is_withheld(suite: Suite) -> None:
    suite.script.finish = generator_pb2.FINISH_MAX_TOKENS
    reply = await suite.call("Ask", ask())
    assert reply.unverified.reasons == ["the answer was cut off by the limit of its length"]
    assert report(reply, "ground").status == RAN


async def test_an_answer_of_too_many_sentences_is_withheld(suite: Suite) -> None:
    suite.script.sentences = [GOOD] * 201
    reply = await suite.call("Ask", ask())
    assert reply.unverified.reasons == ["the answer has more than 200 sentences"]
    assert report(reply, "generate").status == DEGRADED


async def test_without_passages_the_chunks_are_read(suite: Suite) -> None:
    suite.script.on["retriever.GetPassages"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "passages").status == DEGRADED
    assert reply.answered.sentences[0].citations[0].page == 15


async def test_quotes_that_cannot_be_located_still_hold(suite: Suite) -> None:
    suite.script.on["retriever.LocateQuotes"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert not reply.answered.sentences[0].citations[0].located


async def test_control_characters_reach_no_client(suite: Suite) -> None:
    suite.script.sentences = [sentence(GOOD.text + "\x1b[31m\x07‮", GOOD.citations[0].quote)]
    reply = await suite.call("Ask", ask())
    assert reply.answered.sentences[0].text == GOOD.text


async def test_the_judge_can_withhold(suite: Suite) -> None:
    async def doubts(request: Any) -> Any:
        assert list(request.evidence) == [GOOD.citations[0].quote]
        return generator_pb2.JudgeResponse(support=0.1)

    on = gateway_pb2.StepToggles(judge=gateway_pb2.TOGGLE_ON)
    reply = await suite.call("Ask", ask())
    assert [said.proof for said in reply.answered.sentences] == [gateway_pb2.PROOF_RULES]
    reply = await suite.call("Ask", ask(steps=on))
    assert [said.proof for said in reply.answered.sentences] == [gateway_pb2.PROOF_JUDGE]
    suite.script.on["generator.Judge"] = doubts
    reply = await suite.call("Ask", ask(steps=on))
    assert list(reply.unverified.reasons) == ["sentence 1: the judge found its quotes too weak"]
    suite.script.on["generator.Judge"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask(steps=on))
    assert [said.proof for said in reply.answered.sentences] == [gateway_pb2.PROOF_RULES]
    assert report(reply, "ground").status == DEGRADED
