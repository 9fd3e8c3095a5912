"""MaxSim in double precision, and how far a kernel may be from it."""

import numpy as np
from numpy.typing import NDArray

from native import maxsim

DTYPES: tuple[maxsim.Dtype, ...] = ("fp32", "fp16", "bf16", "int8")


def exact_scores(
    query: NDArray[np.float32], documents: list[NDArray[np.float32]], dtype: maxsim.Dtype
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of what the kernel multiplies (after the dtype's rounding), and the stated bound.

    |score - exact| <= (dim + 4) * 2**-24 * sum over i of max over j of sum over k of |q_ik d_jk|
    """
    q = as_multiplied(query, dtype if dtype in ("bf16", "int8") else "fp32")
    scores, bounds = [], []
    for document in documents:
        if len(document) == 0:
            scores.append(-np.inf)
            bounds.append(0.0)
            continue
        d = as_multiplied(document, dtype)
        scores.append(float((q @ d.T).max(axis=1).sum()))
        magnitude = float((np.abs(q) @ np.abs(d).T).max(axis=1).sum())
        rounding = (q.shape[1] + 4) * 2.0**-24 * magnitude
        bounds.append(rounding + 2.0**-24 * abs(scores[-1]) + 1e-30)
    return np.array(scores), np.array(bounds)


def as_multiplied(vectors: NDArray[np.float32], dtype: maxsim.Dtype) -> NDArray[np.float64]:
    return maxsim.Tiles.from_matrix(vectors, dtype).to_matrix().astype(np.float64)


def unit_vectors(random: np.random.Generator, tokens: int, dim: int) -> NDArray[np.float32]:
    rows = random.standard_normal((tokens, dim)).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = rows / np.maximum(norms, np.float32(1e-9))
    return unit
