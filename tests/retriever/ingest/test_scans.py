"""A scan on its way from bytes to what a search finds, as the service does it by default."""

from typing import Literal

import pytest

from folio.common.v1 import document_pb2, step_pb2
from services.retriever.parsing import tesseract
from services.retriever.settings import RetrieverSettings
from services.retriever.uploads import _ocr
from tests.retriever.conftest import Caller
from tests.retriever.parsing.pdf.scans import WORDS, scan

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not tesseract.installed("eng"), reason="OCR needs the extra `ocr`"),
]


async def test_a_scan_is_read_without_being_asked_and_found(caller: Caller) -> None:
    result, progress = await caller.stage(
        scan(WORDS, WORDS.replace("spring", "autumn")), "scan.pdf"
    )
    steps = [(event.done, event.total) for event in progress if event.step == step_pb2.STEP_PARSE]
    assert {(0, 2), (1, 2)} <= set(steps)
    published = await caller.publish(result)
    assert published.document.status == document_pb2.DOCUMENT_STATUS_READY
    assert "read by OCR on pages 1, 2" in published.document.warnings
    found = await caller.search("What does a full inspection of the boiler house cost?")
    assert "1,250 euros" in found.hits[0].chunk.body


@pytest.mark.parametrize(
    ("setting", "requested", "read"),
    [
        ("auto", False, True),
        ("request", False, False),
        ("request", True, True),
        ("off", True, False),
    ],
)
def test_who_gets_scans_read(
    setting: Literal["auto", "request", "off"], requested: bool, read: bool
) -> None:
    settings = RetrieverSettings.model_construct(ocr=setting, ocr_languages="eng")
    assert _ocr(settings, requested) is read


def test_a_service_without_the_language_reads_none_by_itself() -> None:
    settings = RetrieverSettings.model_construct(ocr="auto", ocr_languages="eng+tlh")
    assert not _ocr(settings, requested=False)
    assert _ocr(settings, requested=True)  # Who asks is told what is missing.
