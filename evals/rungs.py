"""The ladder: the same questions through more and more steps, each rung one step more than the one before."""

from collections.abc import Mapping
from dataclasses import dataclass

ALL_OFF = {
    "dense": False,
    "sparse": False,
    "colbert": False,
    "crossencoder": False,
    "rewrite": False,
    "synonyms": False,
    "multi_query": False,
    "hyde": False,
    "scope": False,
    "passages": False,
    "judge": False,
    "web": False,
    "exact": False,
    "typos": False,
}


@dataclass(frozen=True)
class Rung:
    """One configuration. `adds` are the step reports of which one must have run, else the rung was not measured."""

    name: str
    title: str
    switches: Mapping[str, bool]
    adds: tuple[str, ...] = ()
    # Switches that stay on in later rungs; empty for the rungs that stand alone.
    keeps: tuple[str, ...] = ()
    # Rungs that a search alone can measure; the others need a conversation or an answer.
    searchable: bool = True


DENSE = Rung("dense", "Naive: dense search", {"dense": True}, ("search",))
SPARSE = Rung("bm25", "BM25 alone", {"sparse": True}, ("search",))
FUSED = Rung(
    "rrf", "Dense + BM25, RRF", {"dense": True, "sparse": True}, ("search",), ("dense", "sparse")
)
LATE = Rung("colbert", "+ late interaction", {"colbert": True}, ("colbert",), ("colbert",))
CROSS = Rung(
    "crossencoder", "+ cross-encoder", {"crossencoder": True}, ("crossencoder",), ("crossencoder",)
)
REWRITE = Rung("rewrite", "+ rewriting", {"rewrite": True}, ("rewrite",), ("rewrite",), False)
SYNONYMS = Rung(
    "synonyms",
    "+ synonyms and typos",
    {"synonyms": True, "typos": True},
    ("expand",),
    ("synonyms", "typos"),
)
VARIANTS = Rung(
    "variants",
    "+ multi-query and HyDE (language model)",
    {"multi_query": True, "hyde": True},
    ("expand",),
    ("multi_query", "hyde"),
)
PASSAGES = Rung(
    "passages", "+ whole sections", {"passages": True}, ("passages",), ("passages",), False
)
LADDER = (DENSE, SPARSE, FUSED, LATE, CROSS, REWRITE, SYNONYMS, VARIANTS, PASSAGES)
# What the services do when nobody asks for anything else.
CONFIGURED = Rung("configured", "As configured", {}, searchable=False)


def switches(rung: Rung, kept: Mapping[str, bool]) -> dict[str, bool]:
    """The toggles that a rung sends: all off, what earlier rungs keep, its own. None at all for `configured`."""
    if not rung.switches:
        return {}
    below = kept if rung.keeps and rung is not FUSED else {}
    return {**ALL_OFF, **below, **rung.switches}
