"""What CONTRIBUTING.md says a provider of language models is made of."""

import tomllib
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from services.generator.models import Models
from services.generator.providers import PROVIDERS, ProviderSettings
from services.generator.settings import GeneratorSettings
from services.rpc.errors import FailedPrecondition
from services.rpc.testing import SECRET

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ROOT / "services" / "generator" / "providers"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def test_every_folder_is_a_provider() -> None:
    assert {path.name for path in FOLDERS.iterdir() if (path / "__init__.py").exists()} == set(
        PROVIDERS
    )


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_is_one_folder_with_tests_and_an_extra(name: str) -> None:
    assert {"__init__.py", "settings.py", "provider.py"} <= {
        path.name for path in (FOLDERS / name).iterdir()
    }
    assert PROVIDERS[name].startswith(f"services.generator.providers.{name}.provider:")
    assert (ROOT / "tests" / "generator" / f"test_{name}.py").exists()
    (sdk,) = EXTRAS[name.replace("_", "-")]
    extra = sdk.removeprefix("folio[").removesuffix("]") if sdk.startswith("folio[") else name
    (every,) = EXTRAS["language-models"]
    assert extra in every.removeprefix("folio[").removesuffix("]").split(",")
    assert set(EXTRAS[extra]) <= set(PYPROJECT["dependency-groups"]["dev"])


@pytest.mark.parametrize("name", PROVIDERS)
def test_its_settings_are_the_generators(name: str) -> None:
    module = f"services.generator.providers.{name}.settings"
    (own,) = (base for base in ProviderSettings.__bases__ if base.__module__ == module)
    assert issubclass(own, BaseSettings)
    assert set(own.model_fields) <= set(GeneratorSettings.model_fields)


@pytest.mark.parametrize("name", PROVIDERS)
def test_it_is_made_once_and_says_what_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIO_INTERNAL_SECRET", SECRET)
    chosen = {
        field: "http://127.0.0.1:9" if field.endswith(("url", "host")) else "key"
        for field, info in ProviderSettings.model_fields.items()
        if info.annotation is not int
    }
    models = Models(GeneratorSettings(**chosen))  # type: ignore[arg-type]
    one = models.open(name, "m")
    assert (one.provider, one.model) == (name, "m")
    assert models.provider(name) is models.provider(name)
    with pytest.raises(FailedPrecondition, match="RAG_MODEL"):
        models.open(name, "")
