"""A scan that is hard to read, from its picture to a person: the figures in doubt are marked in the reply and named."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folio import Folio
from folio.cli.commands import app
from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from services.retriever.parsing import tesseract
from services.suite import Suite
from tests.retriever.parsing.pdf.scans import WORDS, paper, picture, scan

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not tesseract.installed("eng"), reason="OCR needs the extra `ocr`"),
]

WARNING = "hard to read in the scan: compare it with the page"
NAMES = (
    "Alder",
    "Birch",
    "Cedar",
    "Elder",
    "Hazel",
    "Holly",
    "Juniper",
    "Larch",
    "Linden",
    "Maple",
    "Poplar",
    "Rowan",
    "Spruce",
    "Willow",
    "Yew",
)
PRICES = {name: f"{at * 7919 % 100_000:,}" for at, name in enumerate(NAMES, 11)}
PAGE = "\n".join(
    f"The repair of the boat {name} costs {price} euros." for name, price in PRICES.items()
)


@dataclass(frozen=True)
class Asked:
    """A reply, and what the command line prints of the same question."""

    reply: gateway_pb2.AskResponse
    printed: str


@pytest.fixture(scope="module", params=[True, False], ids=["blurred", "clear"])
def answers(
    request: pytest.FixtureRequest,
    data_folders: Callable[[], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Asked]]:
    """The answers about every boat, by its name."""
    file = tmp_path_factory.mktemp("files") / "boats.pdf"
    file.write_bytes(scan(PAGE, dpi=80, blur=0.3, size=11) if request.param else scan(PAGE))
    with (
        Suite(data_folders(), ["acme"], port=0) as suite,
        Folio(suite.client.address, key := suite.client.keys["acme"]) as client,
    ):
        list(client.ingest(file))
        found = {}
        for name in NAMES:
            question = f"What does the repair of the boat {name} cost?"
            words = ["--address", suite.client.address, "--api-key", key, "ask", question]
            printed = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
            assert printed.exit_code == 0, printed.output
            found[name] = Asked(client.ask(question), " ".join(printed.output.split()))
        yield found


def test_a_figure_read_wrongly_is_never_told_without_a_warning(answers: dict[str, Asked]) -> None:
    for name, asked in answers.items():
        for sentence in asked.reply.answered.sentences:
            told = any(price in sentence.text for price in PRICES.values())
            assert told or any(cited.uncertain for cited in sentence.citations), (name, sentence)


def test_the_command_line_warns_where_the_reply_is_marked(answers: dict[str, Asked]) -> None:
    for asked in answers.values():
        cited = [each for said in asked.reply.answered.sentences for each in said.citations]
        assert (WARNING in asked.printed) is any(each.uncertain for each in cited)


def test_marked_are_figures_of_the_bad_scan_only(
    answers: dict[str, Asked], request: pytest.FixtureRequest
) -> None:
    marked = [name for name, asked in answers.items() if WARNING in asked.printed]
    answered = [
        name for name, asked in answers.items() if asked.reply.WhichOneof("outcome") == "answered"
    ]
    assert len(answered) > len(NAMES) / 2
    if "blurred" in request.node.name:
        assert 0 < len(marked) < len(answered)
    else:
        assert not marked


def test_a_picture_is_a_document(data_folders: Callable[[], Path], tmp_path: Path) -> None:
    """Frame, words and place are those of the picture."""
    file = tmp_path / "boats.tif"
    frames = [picture(paper(WORDS)), picture(paper(PAGE))]
    frames[0].save(file, save_all=True, append_images=frames[1:], compression="tiff_lzw")
    with (
        Suite(data_folders(), ["acme"], port=0) as suite,
        Folio(suite.client.address, suite.client.keys["acme"]) as client,
    ):
        *_, last = client.ingest(file)
        assert last.result.document.status == document_pb2.DOCUMENT_STATUS_READY
        reply = client.ask("What does the repair of the boat Maple cost?")
        cited = reply.answered.sentences[0].citations[0]
        assert PRICES["Maple"] in cited.quote
        assert (cited.page, cited.page_label, cited.page_kind) == (
            1,
            "2",
            document_pb2.PAGE_KIND_PAGE,
        )
        assert cited.located
        shown = client.page_image(
            last.result.document.id, 1, highlight=(cited.char_start, cited.char_end)
        )
        assert shown.png.startswith(b"\x89PNG")
        assert shown.regions == cited.regions
