"""BERT's forward pass in numpy and float64, one text at a time: the truth that the graph is held to.

Devlin et al. 2019; exact GELU; post-layer normalisation.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_erf = np.vectorize(math.erf, otypes=[np.float64])


def last_hidden_state(
    weights: Mapping[str, NDArray[np.float32]], ids: list[int], *, layers: int, heads: int
) -> Array:
    """(tokens, hidden) for one sequence of token ids, all of segment 0."""
    tensor = {name: values.astype(np.float64) for name, values in weights.items()}

    def linear(values: Array, name: str) -> Array:
        return values @ tensor[f"{name}.weight"].T + tensor[f"{name}.bias"]

    def normalise(values: Array, name: str) -> Array:
        centred = values - values.mean(axis=-1, keepdims=True)
        scale = np.sqrt(centred.var(axis=-1, keepdims=True) + 1e-12)
        normal: Array = centred / scale * tensor[f"{name}.weight"] + tensor[f"{name}.bias"]
        return normal

    hidden = normalise(
        tensor["embeddings.word_embeddings.weight"][ids]
        + tensor["embeddings.position_embeddings.weight"][: len(ids)]
        + tensor["embeddings.token_type_embeddings.weight"][0],
        "embeddings.LayerNorm",
    )
    width = hidden.shape[1] // heads
    for layer in (f"encoder.layer.{i}" for i in range(layers)):
        query, key, value = (
            linear(hidden, f"{layer}.attention.self.{part}").reshape(len(ids), heads, width)
            for part in ("query", "key", "value")
        )
        logits = np.einsum("ihd,jhd->hij", query, key) / math.sqrt(width)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        context = np.einsum("hij,jhd->ihd", shares, value).reshape(len(ids), -1)
        attended = linear(context, f"{layer}.attention.output.dense")
        hidden = normalise(hidden + attended, f"{layer}.attention.output.LayerNorm")
        wide = linear(hidden, f"{layer}.intermediate.dense")
        wide = 0.5 * wide * (1 + _erf(wide / math.sqrt(2)))
        hidden = normalise(
            hidden + linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
        )
    return hidden
