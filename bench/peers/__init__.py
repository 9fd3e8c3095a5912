"""What is measured: a file each, with prepare(data, variant, threads) -> a call that scores.

prepare may convert and pack the documents, as a store would have; the query is prepared within the
call. The call returns (queries, documents) scores.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    module: str
    variant: str = ""
    peak: str | None = "fp32"  # the peak that its arithmetic is bound by; None: mixed
    ours: bool = False


PEERS = (
    Peer("folio-fp32", "folio", "fp32", ours=True),
    Peer("folio-fp16", "folio", "fp16", ours=True),
    Peer("folio-bf16", "folio", "bf16", "bf16", ours=True),
    Peer("folio-int8", "folio", "int8", "int8", ours=True),
    Peer("folio-fp32-rows", "folio", "rows", ours=True),
    Peer("numpy", "numpy", "each"),
    Peer("numpy-flat", "numpy", "flat"),
    Peer("torch", "torch"),
    Peer("maxsim-cpu", "maxsim_cpu"),
    Peer("fast-maxsim", "fast_maxsim"),
    Peer("numkong", "numkong", peak=None),
)
