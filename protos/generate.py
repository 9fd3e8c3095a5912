"""Regenerates the Python code of every contract: `python protos/generate.py` from the repository root.

validate.proto comes from the installed protovalidate package, which carries its descriptor; so nothing is
vendored but the generated module, and protoc reads it as a descriptor set.
"""

import os
import subprocess
import sys
from pathlib import Path

from google.protobuf import (
    descriptor_pb2,
    duration_pb2,
    field_mask_pb2,
    timestamp_pb2,
)
from protovalidate._gen.buf.validate import validate_pb  # type: ignore[attr-defined]

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "protos"

# validate.proto imports these; importing the modules registers them in the pool.
WELL_KNOWN = (descriptor_pb2, duration_pb2, field_mask_pb2, timestamp_pb2)


def validate_descriptor_set() -> Path:
    """Writes validate.proto and its imports as a FileDescriptorSet and returns its path."""
    validate = descriptor_pb2.FileDescriptorProto.FromString(validate_pb.desc().proto.to_binary())
    path = BUILD / "validate.binpb"
    path.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for module in WELL_KNOWN:
        files.append(descriptor_pb2.FileDescriptorProto())
        module.DESCRIPTOR.CopyToProto(files[-1])
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[*files, validate]).SerializeToString())
    return path


def protoc(*arguments: str) -> None:
    """Runs protoc with the plugins that are installed beside this interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [sys.executable, "-m", "grpc_tools.protoc", *arguments]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PATH": path})


def main() -> None:
    dependencies = validate_descriptor_set()
    sources = sorted(
        str(path.relative_to(ROOT / "protos")) for path in (ROOT / "protos").rglob("*.proto")
    )
    inputs = [f"--descriptor_set_in={dependencies}", "-Iprotos"]
    protoc(
        *inputs,
        f"--descriptor_set_out={BUILD / 'folio.binpb'}",
        "--include_imports",
        "--include_source_info",
        *sources,
    )
    for stale in (ROOT / "folio").rglob("*_pb2*.py*"):
        stale.unlink()
    protoc(*inputs, "--python_out=.", "--mypy_out=.", *sources, "buf/validate/validate.proto")
    serving = [name for name in sources if "\nservice " in (ROOT / "protos" / name).read_text()]
    protoc(*inputs, "--grpc_python_out=.", "--mypy_grpc_out=.", *serving)


if __name__ == "__main__":
    main()
