"""ONNX Runtime in fp32: on every platform, and the same bits alone and in a batch."""

from pathlib import Path

import onnxruntime  # type: ignore[import-untyped]

from services.minilm.engines import Ids, States
from services.minilm.settings import MiniLMSettings


class OnnxRuntimeEngine:
    """See Engine."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self.name = f"onnxruntime {onnxruntime.__version__} fp32"
        self._session = session

    @classmethod
    def create(cls, graph: Path, settings: MiniLMSettings) -> "OnnxRuntimeEngine":
        """Reads the graph."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.model_threads
        # Threads that spin between inferences take the cores from MaxSim and from PostgreSQL.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"]
        return cls(onnxruntime.InferenceSession(str(graph), options, providers=providers))

    def run(self, ids: Ids, mask: Ids) -> States:
        states: States
        (states,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        return states
