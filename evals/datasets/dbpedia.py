"""A BEIR DBpedia-entity sample: 5,000 passages, 40 judged queries, grades 0 to 2."""

from dataclasses import replace
from pathlib import Path

from evals.datasets import Collection
from evals.datasets.beir import load_beir


def load_dbpedia(data: Path) -> Collection:
    """Reads the sample in the BEIR layout."""
    return replace(load_beir(data / "agentset_ir" / "dbpedia"), name="dbpedia")
