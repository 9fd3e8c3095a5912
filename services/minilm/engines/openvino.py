"""OpenVINO: bfloat16 where the processor multiplies it (twice as fast), fp32 elsewhere."""

import sys
import threading
from pathlib import Path
from typing import Any

# OpenVINO's own converters report to their makers as soon as they are imported, and `import openvino`
# imports them where it can. They are not needed here, so that it cannot.
sys.modules.setdefault("openvino.tools", None)  # type: ignore[arg-type]

import numpy as np  # noqa: E402
import openvino  # noqa: E402

from services.minilm.engines import Ids, States, multiplies_bfloat16  # noqa: E402
from services.minilm.settings import MiniLMSettings  # noqa: E402

# Lengths are padded to a multiple of this. It plans each shape of input once and keeps the plan: over
# texts of any length that took 30% more time and 250 MB more memory.
_STEP = 16


class OpenVINOEngine:
    """See Engine. One inference at a time uses the cores; a second waits for it."""

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._model = model
        self._requests = threading.local()

    @classmethod
    def create(cls, graph: Path, settings: MiniLMSettings) -> "OpenVINOEngine":
        """Reads and compiles the graph."""
        precision = "bf16" if multiplies_bfloat16() else "f32"
        options = {
            "INFERENCE_PRECISION_HINT": precision,
            "INFERENCE_NUM_THREADS": settings.model_threads,
            "NUM_STREAMS": 1,
            # Several processes share the machine: none of them owns a core.
            "ENABLE_CPU_PINNING": False,
        }
        model = openvino.Core().compile_model(str(graph), "CPU", options)
        version = openvino.__version__.partition("-")[0]
        return cls(model, f"openvino {version} {precision}")

    def run(self, ids: Ids, mask: Ids) -> States:
        request = getattr(self._requests, "request", None)
        if request is None:
            request = self._requests.request = self._model.create_infer_request()
        length = ids.shape[1]
        padding = ((0, 0), (0, -length % _STEP))
        inputs = {"input_ids": np.pad(ids, padding), "attention_mask": np.pad(mask, padding)}
        # A copy: the next inference writes where this one's results are.
        states: States = request.infer(inputs, share_inputs=True)[0][:, :length].copy()
        return states
