"""Smaller document matrices: fewer tokens (pooling) and fewer dimensions (projection).

Both are options of the index and cost quality; docs/results/token-compression.md has the measured
price. Queries are never pooled, and are projected with the same matrix.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from services.rpc.errors import FailedPrecondition

Matrix = NDArray[np.float32]


def pool(vectors: Matrix, factor: int) -> Matrix:
    """Ward clusters of a document's tokens, each replaced by its mean, scaled to length 1.

    (n, dim) gives (ceil(n / factor), dim), in the order of each cluster's first token. Clavié,
    Chaffin and Adams, "Reducing the Footprint of Multi-Vector Retrieval with Minimal Performance
    Impact via Token Pooling", 2024. FailedPrecondition where SciPy is not installed.
    """
    wanted = -(-len(vectors) // factor)
    if wanted >= len(vectors):
        return vectors
    try:
        from scipy.cluster.hierarchy import fcluster, linkage
    except ModuleNotFoundError:
        raise FailedPrecondition(
            "token pooling needs SciPy: pip install 'folio[pooling]'"
        ) from None
    labels = fcluster(linkage(vectors, "ward"), wanted, "maxclust") - 1
    sums = np.zeros((int(labels.max()) + 1, vectors.shape[1]), np.float32)
    np.add.at(sums, labels, vectors)
    _, first = np.unique(labels, return_index=True)
    return _unit(sums[np.argsort(first, kind="stable")])


@dataclass(frozen=True)
class Projection:
    """A linear map to fewer dimensions, applied to queries and documents alike.

    `matrix` (out, dim) has orthonormal rows. Inner products between unit vectors are kept as far as
    the vectors lie in its span; the results are scaled to length 1 again.
    """

    matrix: Matrix

    @property
    def name(self) -> str:
        """Part of the key of whatever is stored under it."""
        return f"p{len(self.matrix)}-{hashlib.sha256(self.matrix.tobytes()).hexdigest()[:8]}"

    def __call__(self, vectors: Matrix) -> Matrix:
        return _unit(vectors @ self.matrix.T)

    @classmethod
    def fit(cls, vectors: Matrix, dim: int) -> Self:
        """The `dim` directions that hold most of the vectors' second moment (uncentred PCA, since
        what counts is the inner product, not the variance).
        """
        _, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
        return cls(np.ascontiguousarray(directions[:, ::-1][:, :dim].T, np.float32))

    @classmethod
    def load(cls, path: Path, dim: int) -> Self:
        """Reads a .npy file. FailedPrecondition where it is no projection of `dim` dimensions."""
        try:
            matrix = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise FailedPrecondition(
                f"FOLIO_COLBERT_PROJECTION cannot be read as a .npy file: {type(error).__name__}"
            ) from None
        out = matrix.shape[0] if matrix.ndim == 2 else 0
        if matrix.ndim != 2 or matrix.shape[1] != dim or not 4 <= out <= dim or out % 4:
            raise FailedPrecondition(
                f"FOLIO_COLBERT_PROJECTION has shape {matrix.shape}; expected"
                f" (a multiple of 4 up to {dim}, {dim})"
            )
        matrix = np.ascontiguousarray(matrix, np.float32)
        if not np.allclose(matrix @ matrix.T, np.eye(out), atol=1e-3):
            raise FailedPrecondition("FOLIO_COLBERT_PROJECTION has rows that are not orthonormal")
        return cls(matrix)

    def save(self, path: Path) -> None:
        np.save(path, self.matrix)


def _unit(vectors: Matrix) -> Matrix:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Matrix = vectors / np.maximum(norms, np.float32(1e-12))
    return result
