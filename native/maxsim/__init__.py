"""MaxSim, the score of late interaction, as fast as the processor allows.

    from native import maxsim

    maxsim.scores(query, documents)                        # (n,) scores
    tiles = [maxsim.Tiles.from_matrix(d, "int8") for d in documents]
    maxsim.topk(query, tiles, 10)                          # places, scores
    maxsim.alignments(query, tiles)                        # which token answered which

Omar Khattab and Matei Zaharia, "ColBERT: Efficient and Effective Passage Search via
Contextualized Late Interaction over BERT", SIGIR 2020.
"""

from native.maxsim.documents import Ragged
from native.maxsim.index import Index
from native.maxsim.kernels import Dtype, kernel, kernels, select_kernel
from native.maxsim.query import Query
from native.maxsim.scoring import Alignments, Cancel, Cancelled, alignments, best, scores, topk
from native.maxsim.tiles import Tiles

__all__ = [
    "Alignments",
    "Cancel",
    "Cancelled",
    "Dtype",
    "Index",
    "Query",
    "Ragged",
    "Tiles",
    "alignments",
    "best",
    "kernel",
    "kernels",
    "scores",
    "select_kernel",
    "topk",
]
