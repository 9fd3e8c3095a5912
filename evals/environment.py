"""Where a run was made: commit, machine, models. A number without these cannot be repeated."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from folio.common.v1 import service_pb2
from folio.gateway.v1 import gateway_pb2
from folio.words import word

ROOT = Path(__file__).resolve().parents[1]


def commit() -> str:
    """The checkout's short commit, "-dirty" where tracked files are changed; "unknown" outside of a checkout."""
    # Installed into another project's environment, git would name that project's commit.
    if not (ROOT / ".git").exists():
        return "unknown"
    try:
        found = subprocess.run(
            [
                "git",
                "-C",
                str(ROOT),
                "describe",
                "--always",
                "--dirty",
                "--abbrev=10",
                "--exclude=*",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()


def hardware() -> dict[str, Any]:
    """Processor, cores, memory and system of the machine that asks."""
    return {
        "processor": _field(Path("/proc/cpuinfo"), "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory": _field(Path("/proc/meminfo"), "MemTotal"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def models(status: gateway_pb2.GetStatusResponse) -> list[dict[str, Any]]:
    """Every service with its providers, as GetStatus tells it."""
    return [
        {
            "service": state.service,
            "reachable": state.reachable,
            "reason": state.reason,
            "providers": [
                {
                    "purpose": word(service_pb2.Purpose, provider.purpose),
                    "provider": provider.provider,
                    "model": provider.model,
                    "revision": provider.revision,
                    "local": provider.local,
                }
                for provider in state.capabilities.providers
            ],
            "version": state.capabilities.version,
            "commit": state.capabilities.commit,
            "details": dict(sorted(state.capabilities.details.items())),
        }
        for state in status.services
    ]


def _field(path: Path, name: str) -> str:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
