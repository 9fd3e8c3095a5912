"""A BERT encoder as an ONNX graph, made from its weights with the `onnx` library alone.

The graph uses ONNX Runtime's fused operators (EmbedLayerNormalization, Attention,
SkipLayerNormalization, BiasGelu): the plan that its optimiser would find, written down, so that
nothing depends on pattern matching. Padding is masked before the softmax by -10000, which is an
exact zero after it in fp32: a padded row never moves another one.

Source: Devlin et al. 2019 (BERT); weight names as in Hugging Face's BertModel.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]

_FUSED = "com.microsoft"


@dataclass(frozen=True)
class BertConfig:
    """The shape of a BERT encoder. `classes` > 0 adds BERT's pooler and a linear head."""

    hidden: int
    layers: int
    heads: int
    epsilon: float = 1e-12
    segments: bool = False
    classes: int = 0


def bert(config: BertConfig, weights: Weights) -> onnx.ModelProto:
    """A graph of inputs input_ids, attention_mask (and token_type_ids, with `segments`), all int32
    (batch, length), and one output: last_hidden_state (batch, length, hidden) float32, or logits
    (batch, classes) where the configuration has classes.

    Raises KeyError for a missing weight.
    """
    return _Builder(config, weights).build()


class _Builder:
    def __init__(self, config: BertConfig, weights: Weights) -> None:
        self._config = config
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: list[onnx.TensorProto] = []

    def build(self) -> onnx.ModelProto:
        config = self._config
        names = ["input_ids", "attention_mask"] + ["token_type_ids"] * config.segments
        shape: list[str | int | None] = ["batch", "length", config.hidden]
        hidden = self._embeddings()
        for layer in range(config.layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        if config.classes:
            hidden, shape = self._head(hidden), ["batch", config.classes]
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [
                helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"])
                for name in names
            ],
            [helper.make_tensor_value_info(hidden, TensorProto.FLOAT, shape)],
            self._tensors,
        )
        return helper.make_model(
            graph,
            ir_version=9,
            opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)],
        )

    def _embeddings(self) -> str:
        positions = self._weights["embeddings.position_embeddings.weight"]
        segments = self._weights["embeddings.token_type_embeddings.weight"]
        if not self._config.segments:
            # Every token is of segment 0, so its vector can stand in the position table.
            positions = positions + segments[0]
        return self._add(
            "EmbedLayerNormalization",
            [
                "input_ids",
                "token_type_ids" if self._config.segments else "",
                self._weight("embeddings.word_embeddings.weight"),
                self._tensor("positions", positions),
                self._tensor("segments", segments) if self._config.segments else "",
                self._weight("embeddings.LayerNorm.weight"),
                self._weight("embeddings.LayerNorm.bias"),
            ],
            "embedded",
            fused=True,
            extra_outputs=("embedded_mask",),
            epsilon=self._config.epsilon,
        )

    def _layer(self, hidden: str, layer: str) -> str:
        attention = f"{layer}.attention.self"
        parts = [f"{attention}.{part}" for part in ("query", "key", "value")]
        weights = [self._weights[f"{part}.weight"].T for part in parts]
        biases = [self._weights[f"{part}.bias"] for part in parts]
        attended = self._add(
            "Attention",
            [
                hidden,
                self._tensor(f"{attention}.weight", np.concatenate(weights, axis=1)),
                self._tensor(f"{attention}.bias", np.concatenate(biases)),
                "attention_mask",
            ],
            f"{attention}.context",
            fused=True,
            num_heads=self._config.heads,
        )
        hidden = self._residual(attended, hidden, f"{layer}.attention.output")
        wide = self._add(
            "BiasGelu",
            [
                self._matmul(hidden, f"{layer}.intermediate.dense"),
                self._weight(f"{layer}.intermediate.dense.bias"),
            ],
            f"{layer}.intermediate",
            fused=True,
        )
        return self._residual(wide, hidden, f"{layer}.output")

    def _residual(self, values: str, skip: str, name: str) -> str:
        return self._add(
            "SkipLayerNormalization",
            [
                self._matmul(values, f"{name}.dense"),
                skip,
                self._weight(f"{name}.LayerNorm.weight"),
                self._weight(f"{name}.LayerNorm.bias"),
                self._weight(f"{name}.dense.bias"),
            ],
            name,
            fused=True,
            epsilon=self._config.epsilon,
        )

    def _head(self, hidden: str) -> str:
        first = self._add(
            "Gather", [hidden, self._tensor("first", np.array(0, np.int64))], "cls", axis=1
        )
        pooled = self._add("Tanh", [self._linear(first, "pooler.dense")], "pooled")
        return self._linear(pooled, "classifier")

    def _linear(self, values: str, name: str) -> str:
        inputs = [values, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]
        return self._add("Gemm", inputs, f"{name}.linear", transB=1)

    def _matmul(self, values: str, name: str) -> str:
        weight = self._tensor(f"{name}.weight", self._weights[f"{name}.weight"].T)
        return self._add("MatMul", [values, weight], f"{name}.product")

    def _weight(self, name: str) -> str:
        return self._tensor(name, self._weights[name])

    def _tensor(self, name: str, values: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self._tensors.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def _add(
        self,
        operator: str,
        inputs: list[str],
        output: str,
        *,
        fused: bool = False,
        extra_outputs: tuple[str, ...] = (),
        **attributes: int | float,
    ) -> str:
        node = helper.make_node(
            operator, inputs, [output, *extra_outputs], domain=_FUSED if fused else ""
        )
        node.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
        self._nodes.append(node)
        return output
