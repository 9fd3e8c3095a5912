"""The files in deploy/: whole, and true to the services' settings."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import environment
from services.suite import HEALTH

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
SERVICES = ("gateway", "retriever", "colbert", "crossencoder", "generator", "encoder")
KNOWN = {
    environment.variable(settings, field)
    for settings in environment.SETTINGS.values()
    for field in settings.model_fields
}
SECRETS = {"POSTGRES_PASSWORD"} | {
    environment.variable(settings, field)
    for settings in environment.SETTINGS.values()
    for field, info in settings.model_fields.items()
    if "SecretStr" in str(info.annotation)
}


def manifests() -> list[dict[str, Any]]:
    paths = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [part for path in paths for part in yaml.safe_load_all(path.read_text()) if part]


@pytest.mark.parametrize("path", environment.files(), ids=lambda path: path.name)
def test_what_is_written_by_program_is_what_the_settings_say(path: Path) -> None:
    assert path.read_text() == environment.files()[path], "run `python -m deploy.environment`"


def test_the_owner_of_the_tables_is_not_in_the_file_that_all_services_read() -> None:
    assert "DATABASE_ADMIN_URL" not in environment.example()


def test_every_setting_says_what_it_means() -> None:
    for settings in environment.SETTINGS.values():
        for field, info in settings.model_fields.items():
            assert info.description, f"{settings.__name__}.{field}"


def test_compose_has_every_service_confined() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name in SERVICES:
        service = services[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["build"]["args"]["SERVICE"] == name
        assert "mem_limit" in service
    published = [name for name, service in services.items() if "ports" in service]
    assert published == ["gateway"]
    assert services["gateway"]["networks"] == ["services", "public"], (
        "the gateway reaches no database"
    )


@pytest.mark.parametrize("service", environment.SERVICES)
def test_a_service_sees_its_own_secrets_only(service: str) -> None:
    """All read one set of variables. What blanks the secrets of others comes after it, so that it has the last word."""
    own = {
        environment.variable(settings, field)
        for settings in [environment.SERVICES[service]]
        for field, info in settings.model_fields.items()
        if "SecretStr" in str(info.annotation)
    }
    others = SECRETS - own

    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"][service]
    assert compose["env_file"] == ".env"
    base = yaml.safe_load((DEPLOY / compose["extends"]["file"]).read_text())["services"]
    seen = base[compose["extends"]["service"]]["environment"] | compose.get("environment", {})
    assert {name for name, value in seen.items() if value == ""} == others
    assert not own & set(base[service]["environment"])

    container = next(
        part["spec"]["template"]["spec"]["containers"][0]
        for part in manifests()
        if part["kind"] in {"Deployment", "Job"} and part["metadata"]["name"] == service
    )
    last = container["envFrom"][-1]["configMapRef"]["name"]
    (blanks,) = (
        part["data"]
        for part in manifests()
        if part["kind"] == "ConfigMap" and part["metadata"]["name"] == last
    )
    assert blanks == dict.fromkeys(others, "")
    assert not {item["name"] for item in container.get("env", [])} & SECRETS


@pytest.mark.parametrize("name", SERVICES)
def test_kubernetes_probes_ask_the_service_for_itself(name: str) -> None:
    deployments = {
        part["metadata"]["name"]: part for part in manifests() if part["kind"] == "Deployment"
    }
    pod = deployments[name]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["readinessProbe"]["grpc"]["service"] == HEALTH[name]
    assert "service" not in container["livenessProbe"]["grpc"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["securityContext"]["runAsNonRoot"] is True
    service = next(
        part
        for part in manifests()
        if part["kind"] == "Service" and part["metadata"]["name"] == name
    )
    assert service["spec"]["clusterIP"] == "None", "clients must see every replica"


@pytest.mark.parametrize("name", SERVICES)
def test_the_network_lets_callers_and_prometheus_in(name: str) -> None:
    policies = [part["spec"] for part in manifests() if part["kind"] == "NetworkPolicy"]

    def chooses(selector: dict[str, Any]) -> bool:
        labels = selector.get("matchLabels", {}).get("app", name) == name
        return labels and all(name in e["values"] for e in selector.get("matchExpressions", []))

    doors = {
        port["port"]
        for policy in policies
        if chooses(policy["podSelector"])
        for rule in policy.get("ingress", [])
        for port in rule["ports"]
    }
    template = next(
        part["spec"]["template"]
        for part in manifests()
        if part["kind"] == "Deployment" and part["metadata"]["name"] == name
    )
    scraped = int(template["metadata"]["annotations"]["prometheus.io/port"])
    assert doors == {7400, scraped}


def test_variables_in_the_files_exist() -> None:
    for path in [DEPLOY / "Dockerfile", *(DEPLOY / "kubernetes").glob("*.yaml")]:
        used = set(re.findall(r"\b(FOLIO_[A-Z_]+|DATABASE_[A-Z_]+)\b", path.read_text()))
        assert used <= KNOWN, f"{path.name}: {sorted(used - KNOWN)}"
