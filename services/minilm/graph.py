"""A BERT encoder as an ONNX graph, made from its weights with the `onnx` library alone.

The graph uses the standard's operators alone, in the patterns that every engine fuses by itself: ONNX
Runtime was no faster with its own operators written down. Padding is masked before the softmax by
-10000, which is an exact zero after it in fp32 and bf16: a padded row never moves another one.

Source: Devlin et al. 2019 (BERT); weight names as in Hugging Face's BertModel.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]

_OPSET = 17


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
        self._constants()
        hidden, mask = self._embeddings(), self._mask()
        for layer in range(config.layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}", mask)
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
            opset_imports=[helper.make_opsetid("", _OPSET)],
        )

    def _constants(self) -> None:
        """What several nodes read, by name."""
        width = self._config.hidden // self._config.heads
        for name, value in (
            ("one", 1.0),
            ("half", 0.5),
            ("root", math.sqrt(2)),
            ("scale", 1 / math.sqrt(width)),
            ("nothing", -10000.0),
        ):
            self._tensor(name, np.array(value, np.float32))
        for name, numbers in (
            ("first", 0),
            ("second", 1),
            ("axes", [1, 2]),
            ("split", [0, 0, self._config.heads, width]),
            ("joined", [0, 0, self._config.hidden]),
        ):
            self._tensor(name, np.array(numbers, np.int64))

    def _embeddings(self) -> str:
        positions = self._weights["embeddings.position_embeddings.weight"]
        segments = self._weights["embeddings.token_type_embeddings.weight"]
        if not self._config.segments:
            # Every token is of segment 0, so its vector can stand in the position table.
            positions = positions + segments[0]
        words = self._weight("embeddings.word_embeddings.weight")
        total = self._add("Gather", [words, "input_ids"], "words")
        shape = self._add("Shape", ["input_ids"], "shape")
        length = self._add("Gather", [shape, "second"], "length", axis=0)
        places = self._add("Range", ["first", length, "second"], "places")
        placed = self._add("Gather", [self._tensor("positions", positions), places], "placed")
        total = self._add("Add", [total, placed], "words.placed")
        if self._config.segments:
            kinds = self._tensor("segments", segments)
            kinds = self._add("Gather", [kinds, "token_type_ids"], "kinds")
            total = self._add("Add", [total, kinds], "words.kinds")
        return self._normalise(total, "embeddings.LayerNorm")

    def _mask(self) -> str:
        """(batch, 1, 1, length): 0 for a token, -10000 for padding."""
        mask = self._add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        lacking = self._add("Sub", ["one", mask], "mask.lacking")
        lacking = self._add("Mul", [lacking, "nothing"], "mask.added")
        return self._add("Unsqueeze", [lacking, "axes"], "mask.wide")

    def _layer(self, hidden: str, layer: str, mask: str) -> str:
        name = f"{layer}.attention.self"
        query, key, value = (
            self._heads(hidden, f"{name}.{part}", order)
            for part, order in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        logits = self._add("MatMul", [query, key], f"{name}.products")
        logits = self._add("Mul", [logits, "scale"], f"{name}.scaled")
        logits = self._add("Add", [logits, mask], f"{name}.masked")
        shares = self._add("Softmax", [logits], f"{name}.shares", axis=-1)
        context = self._add("MatMul", [shares, value], f"{name}.mixed")
        context = self._add("Transpose", [context], f"{name}.joined", perm=[0, 2, 1, 3])
        context = self._add("Reshape", [context, "joined"], f"{name}.context")
        hidden = self._residual(context, hidden, f"{layer}.attention.output")
        wide = self._gelu(self._dense(hidden, f"{layer}.intermediate.dense"), f"{layer}.gelu")
        return self._residual(wide, hidden, f"{layer}.output")

    def _heads(self, hidden: str, name: str, order: list[int]) -> str:
        """(batch, length, hidden) as (batch, heads, length, width), or as `order` has it."""
        split = self._add("Reshape", [self._dense(hidden, name), "split"], f"{name}.split")
        return self._add("Transpose", [split], f"{name}.heads", perm=order)

    def _gelu(self, values: str, name: str) -> str:
        """x/2 (1 + erf(x / sqrt 2)), as engines know it and fuse it."""
        inner = self._add("Div", [values, "root"], f"{name}.inner")
        inner = self._add("Erf", [inner], f"{name}.erf")
        inner = self._add("Add", [inner, "one"], f"{name}.outer")
        inner = self._add("Mul", [values, inner], f"{name}.product")
        return self._add("Mul", [inner, "half"], name)

    def _residual(self, values: str, skip: str, name: str) -> str:
        total = self._add("Add", [self._dense(values, f"{name}.dense"), skip], f"{name}.sum")
        return self._normalise(total, f"{name}.LayerNorm")

    def _normalise(self, values: str, name: str) -> str:
        return self._add(
            "LayerNormalization",
            [values, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")],
            name,
            axis=-1,
            epsilon=self._config.epsilon,
        )

    def _head(self, hidden: str) -> str:
        first = self._add("Gather", [hidden, "first"], "cls", axis=1)
        pooled = self._add("Tanh", [self._linear(first, "pooler.dense")], "pooled")
        return self._linear(pooled, "classifier")

    def _linear(self, values: str, name: str) -> str:
        inputs = [values, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]
        return self._add("Gemm", inputs, f"{name}.linear", transB=1)

    def _dense(self, values: str, name: str) -> str:
        weight = self._tensor(f"{name}.weight", self._weights[f"{name}.weight"].T)
        product = self._add("MatMul", [values, weight], f"{name}.product")
        return self._add("Add", [product, self._weight(f"{name}.bias")], name)

    def _weight(self, name: str) -> str:
        return self._tensor(name, self._weights[name])

    def _tensor(self, name: str, values: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self._tensors.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def _add(
        self, operator: str, inputs: list[str], output: str, **attributes: int | float | list[int]
    ) -> str:
        node = helper.make_node(operator, inputs, [output])
        node.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
        self._nodes.append(node)
        return output
