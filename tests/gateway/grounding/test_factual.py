"""The detector of sentences that need a source, against sentences labelled by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from services.gateway.grounding.factual import Fact, facts

LABELLED: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "sentences.yaml").read_text(encoding="utf-8")
)


def test_there_are_enough_of_both_kinds() -> None:
    needing = [entry for entry in LABELLED if entry["facts"]]
    assert len(LABELLED) >= 60
    assert len(needing) >= 40
    assert len(LABELLED) - len(needing) >= 15


@pytest.mark.parametrize("entry", LABELLED, ids=lambda entry: entry["text"][:40] or "empty")
def test_what_needs_a_source_is_found(entry: dict[str, Any]) -> None:
    found = facts(entry["text"])
    assert bool(found) == bool(entry["facts"]), found
    assert {Fact(kind) for kind in entry["facts"]} <= found
