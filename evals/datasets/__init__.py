"""Public test collections, one file per layout. A loader reads a folder that the user has; nothing is copied here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from services.rpc.providers import load


@dataclass(frozen=True)
class Passage:
    """One document of a collection, as it is ingested: title and text; `text` may be empty (Cranfield has two)."""

    id: str
    title: str
    text: str

    @property
    def body(self) -> str:
        """Title and text as one plain text file."""
        return "\n\n".join(part for part in (self.title.strip(), self.text.strip()) if part)


@dataclass(frozen=True)
class Query:
    """One question. `answerable` is False where the collection is known not to answer it."""

    id: str
    text: str
    answerable: bool = True
    # (speaker, text), oldest first.
    history: tuple[tuple[str, str], ...] = ()
    answers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    # Restricts the search to this one document; empty for none.
    document: str = ""


@dataclass(frozen=True)
class Collection:
    """Documents, queries and the grades between them (query id -> document id -> grade)."""

    name: str
    passages: tuple[Passage, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


Loader = Callable[[Path], Collection]

# Name on the command line -> loader. The path is the folder that FOLIO_DATA names.
LOADERS: Mapping[str, str] = {
    "beir": "evals.datasets.beir:load_beir",
    "clapnq": "evals.datasets.clapnq:load_clapnq",
    "cisi": "evals.datasets.smart:load_cisi",
    "cranfield": "evals.datasets.smart:load_cranfield",
    "dbpedia": "evals.datasets.dbpedia:load_dbpedia",
    "hotpotqa": "evals.datasets.hipporag:load_hotpotqa",
    "med": "evals.datasets.smart:load_med",
    "mtrag": "evals.datasets.mtrag:load_mtrag",
    "musique": "evals.datasets.hipporag:load_musique",
    "scifact": "evals.datasets.scifact:load_scifact",
    "squad": "evals.datasets.squad:load_squad",
}


def open_collection(name: str, folder: Path) -> Collection:
    """Reads one collection from the folder of public data. FailedPrecondition for a name that is none."""
    loader: Loader = load(LOADERS, name)
    return loader(folder)
