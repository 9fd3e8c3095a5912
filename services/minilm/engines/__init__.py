"""What runs the model's graph. An engine is one file, and one line in ENGINES."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from services.minilm.settings import MiniLMSettings
from services.rpc.providers import load

Ids = NDArray[np.int32]
States = NDArray[np.float32]

# Name in FOLIO_MINILM_ENGINE -> class; each is made by its `create(graph, settings)`.
ENGINES: Final[Mapping[str, str]] = {
    "onnxruntime": "services.minilm.engines.onnxruntime:OnnxRuntimeEngine",
    "openvino": "services.minilm.engines.openvino:OpenVINOEngine",
}


class Engine(Protocol):
    """The model in memory. `run` blocks and may be called by several threads at once."""

    # Library, version and precision, for those who look at the service.
    name: str

    def run(self, ids: Ids, mask: Ids) -> States:
        """Last hidden states (batch, length, hidden) of token ids (batch, length); `mask` is 1 for tokens."""
        ...


def open_engine(graph: Path, settings: MiniLMSettings) -> Engine:
    """The engine that the settings name; `auto` takes the one that is fastest here.

    FailedPrecondition where its package is not installed.
    """
    name = settings.minilm_engine if settings.minilm_engine != "auto" else fastest()
    engine: Engine = load(ENGINES, name, "FOLIO_MINILM_ENGINE").create(graph, settings)
    return engine


def fastest() -> Literal["onnxruntime", "openvino"]:
    """OpenVINO where it is installed and the processor multiplies bfloat16, else ONNX Runtime."""
    if importlib.util.find_spec("openvino") is not None and multiplies_bfloat16():
        return "openvino"
    return "onnxruntime"


def multiplies_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor has AVX512-BF16 or AMX, as Linux tells it; False on other systems."""
    try:
        flags = cpuinfo.read_text().split()
    except OSError:
        return False
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(flags)
