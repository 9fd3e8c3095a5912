"""Writes deploy/.env.example from the settings of the services: `python -m deploy.environment`.

Variables that several services share are listed once; secrets and what must be set come first.
"""

import json
from pathlib import Path

from pydantic import SecretStr
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from services.colbert.settings import ColbertSettings
from services.crossencoder.settings import CrossEncoderSettings
from services.gateway.settings import GatewaySettings
from services.generator.settings import GeneratorSettings
from services.minilm.settings import MiniLMSettings
from services.postgres.settings import AdminSettings
from services.retriever.settings import RetrieverSettings
from services.rpc.settings import ServerSettings, names

STAGES: dict[str, type[BaseSettings]] = {
    "every service": ServerSettings,
    "the embedded model (retriever, colbert, generator)": MiniLMSettings,
    "gateway": GatewaySettings,
    "retriever": RetrieverSettings,
    "colbert": ColbertSettings,
    "crossencoder": CrossEncoderSettings,
    "generator": GeneratorSettings,
    "the schema's owner (python -m services.postgres.admin)": AdminSettings,
}

# The stages read .env, so what the owner of the tables knows is not in it.
OWNER = """
# --- compose alone
# password of the database that compose starts, in letters and digits; the stages do not see it
POSTGRES_PASSWORD=
"""

# What differs here from a run on one machine.
DEPLOYED = {
    "FOLIO_LISTEN": "0.0.0.0:7400",
    "FOLIO_METRICS_LISTEN": "0.0.0.0:9400",
    "FOLIO_RETRIEVER_ADDRESS": "dns:///retriever:7400",
    "FOLIO_RERANKERS": "colbert=dns:///colbert:7400",
    "FOLIO_GENERATOR_ADDRESS": "dns:///generator:7400",
    "FOLIO_KEYS_FILE": "/etc/folio/keys.yaml",
    "FOLIO_CACHE_DIR": "/var/cache/folio",
}


def variable(settings: type[BaseSettings], field: str) -> str:
    """The environment variable of a field."""
    return names(settings, field)[0]


def shown(default: object) -> str:
    """A default as one would write it; empty for none, secrets, and files that come with the package."""
    if default is None or isinstance(default, SecretStr):
        return ""
    if isinstance(default, Path) and default.is_absolute():
        return ""
    if isinstance(default, frozenset):
        return json.dumps(sorted(default))
    return str(default)


def text() -> str:
    """The file: each variable once, with its meaning; those with a default are commented out."""
    lines = [
        "# Written by deploy/environment.py from the services' settings; do not edit by hand.",
        "# Lines without a # must be filled in; the others show the default.",
    ]
    seen: set[str] = set()
    for stage, settings in STAGES.items():
        if settings is AdminSettings:
            continue
        lines += ["", f"# --- {stage}"]
        for field, info in settings.model_fields.items():
            name = variable(settings, field)
            if name in seen:
                continue
            seen.add(name)
            lines.append(f"# {info.description}")
            if name in DEPLOYED:
                lines.append(f"{name}={DEPLOYED[name]}")
            elif info.default is PydanticUndefined:
                lines.append(f"{name}=")
            else:
                lines.append(f"#{name}={shown(info.default)}")
    return "\n".join(lines) + "\n" + OWNER


if __name__ == "__main__":
    (Path(__file__).parent / ".env.example").write_text(text())
