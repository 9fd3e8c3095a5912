"""Writes what deploy/ takes from the settings of the services: `python -m deploy.environment`.

.env.example                        every variable once, with its meaning
foreign-secrets.yaml                for compose.yaml: what blanks, for each service, the secrets of the others
kubernetes/foreign-secrets.yaml     the same for Kubernetes, as ConfigMaps

All services read one file (or one Secret) of variables. A service must not see a secret that its settings do not have.
"""

import json
from pathlib import Path

from pydantic import SecretStr
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from services.colbert.settings import ColbertSettings
from services.crossencoder.settings import CrossEncoderSettings
from services.encoder.settings import EncoderSettings
from services.gateway.settings import GatewaySettings
from services.generator.settings import GeneratorSettings
from services.minilm.settings import MiniLMSettings
from services.postgres.settings import AdminSettings
from services.retriever.settings import RetrieverSettings
from services.rpc.settings import ServerSettings, names

SETTINGS: dict[str, type[BaseSettings]] = {
    "every service": ServerSettings,
    "the embedded model (encoder, retriever, colbert, generator)": MiniLMSettings,
    "gateway": GatewaySettings,
    "retriever": RetrieverSettings,
    "colbert": ColbertSettings,
    "crossencoder": CrossEncoderSettings,
    "generator": GeneratorSettings,
    "encoder": EncoderSettings,
    "the schema's owner (folio admin)": AdminSettings,
}

# Whose environment is made of .env; `migrate` has the owner's rights and starts before the others.
SERVICES: dict[str, type[BaseSettings]] = {
    "migrate": AdminSettings,
    "retriever": RetrieverSettings,
    "colbert": ColbertSettings,
    "crossencoder": CrossEncoderSettings,
    "generator": GeneratorSettings,
    "encoder": EncoderSettings,
    "gateway": GatewaySettings,
}
FOREIGN = "foreign-secrets.yaml"
NOTE = "# Written by deploy/environment.py from the services' settings; do not edit by hand."

# The services read .env, so what the owner of the tables knows is not in it.
OWNER = """
# --- compose alone
# password of the database that compose starts, in letters and digits; the services do not see it
POSTGRES_PASSWORD=
"""

# What differs here from a run on one machine.
DEPLOYED = {
    "FOLIO_LISTEN": "0.0.0.0:7400",
    "FOLIO_METRICS_LISTEN": "0.0.0.0:9400",
    "FOLIO_RETRIEVER_ADDRESS": "dns:///retriever:7400",
    "FOLIO_RERANKERS": "colbert=dns:///colbert:7400",
    "FOLIO_ENCODER_ADDRESS": "dns:///encoder:7400",
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


def secrets(settings: type[BaseSettings]) -> set[str]:
    """The variables of a service that are secret."""
    return {
        variable(settings, field)
        for field, info in settings.model_fields.items()
        if "SecretStr" in str(info.annotation)
    }


def foreign(service: str) -> list[str]:
    """The secrets that stand in .env and are none of this service's."""
    every = set[str]().union(*(secrets(settings) for settings in SERVICES.values()))
    return sorted((every | {"POSTGRES_PASSWORD"}) - secrets(SERVICES[service]))


def example() -> str:
    """.env.example: each variable once, with its meaning; those with a default are commented out."""
    lines = [
        NOTE,
        "# Lines without a # must be filled in; the others show the default.",
    ]
    seen: set[str] = set()
    for title, settings in SETTINGS.items():
        if settings is AdminSettings:
            continue
        lines += ["", f"# --- {title}"]
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


def for_compose() -> str:
    """foreign-secrets.yaml: what each service of compose.yaml extends."""
    lines = [NOTE, "services:"]
    for service in SERVICES:
        lines += [f"  {service}:", "    environment:"]
        lines += [f'      {name}: ""' for name in foreign(service)]
    return "\n".join(lines) + "\n"


def for_kubernetes() -> str:
    """kubernetes/foreign-secrets.yaml: one ConfigMap for each service, named last in its envFrom."""
    parts = []
    for service in SERVICES:
        lines = [
            "apiVersion: v1",
            "kind: ConfigMap",
            "metadata:",
            f"  name: foreign-secrets-{service}",
        ]
        parts.append("\n".join([*lines, "data:", *(f'  {name}: ""' for name in foreign(service))]))
    return f"{NOTE}\n" + "\n---\n".join(parts) + "\n"


def files() -> dict[Path, str]:
    """Every file that this program writes."""
    deploy = Path(__file__).parent
    return {
        deploy / ".env.example": example(),
        deploy / FOREIGN: for_compose(),
        deploy / "kubernetes" / FOREIGN: for_kubernetes(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
