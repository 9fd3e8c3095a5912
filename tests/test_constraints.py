"""deploy/constraints.txt: one version of everything that pyproject.toml asks for, on every Python and processor."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PINS = [
    Requirement(line)
    for line in (ROOT / "deploy" / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
]


def asked() -> list[Requirement]:
    """The requirements of the package, of the tests and of all extras but pylate, which holds others back."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    lines = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    for name, extra in extras.items():
        lines += extra if name != "pylate" else []
    requirements = [Requirement(line) for line in lines]
    return [each for each in requirements if each.name != "folio"]


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_each_requirement_has_one_version_that_fits(python: str, processor: str) -> None:
    environment: dict[str, str] = {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": processor,
        "sys_platform": "linux",
        "platform_system": "Linux",
    }
    pinned: dict[str, list[str]] = {}
    for pin in PINS:
        if pin.marker is None or pin.marker.evaluate(environment):
            version = str(pin.specifier).removeprefix("==")
            pinned.setdefault(canonicalize_name(pin.name), []).append(version)
    for requirement in asked():
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        versions = pinned.get(canonicalize_name(requirement.name), [])
        assert len(versions) == 1, f"{requirement.name}: {versions}; run `make constraints`"
        assert requirement.specifier.contains(versions[0]), (
            f"{requirement}: {versions[0]}; run `make constraints`"
        )


def test_versions_are_exact_and_name_no_host() -> None:
    for pin in PINS:
        assert str(pin.specifier).startswith("=="), pin
        assert pin.url is None, pin
