"""The files in deploy/: whole, and true to the services' settings."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings

from deploy import environment
from services.suite import HEALTH

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
STAGES = ("gateway", "retriever", "colbert", "crossencoder", "generator")
KNOWN = {
    environment.variable(settings, field)
    for settings in environment.STAGES.values()
    for field in settings.model_fields
}


def manifests() -> list[dict[str, Any]]:
    paths = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [part for path in paths for part in yaml.safe_load_all(path.read_text()) if part]


def test_the_example_environment_is_what_the_settings_say() -> None:
    text = (DEPLOY / ".env.example").read_text()
    assert text == environment.text(), "run `python -m deploy.environment`"


def test_every_setting_says_what_it_means() -> None:
    for settings in environment.STAGES.values():
        for field, info in settings.model_fields.items():
            assert info.description, f"{settings.__name__}.{field}"


def test_compose_has_every_stage_confined() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for stage in STAGES:
        service = services[stage]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["build"]["args"]["SERVICE"] == stage
        assert "mem_limit" in service
    published = [name for name, service in services.items() if "ports" in service]
    assert published == ["gateway"]
    assert services["gateway"]["networks"] == ["stages", "public"], (
        "the gateway reaches no database"
    )


def secrets_of(settings: type[BaseSettings]) -> set[str]:
    return {
        environment.variable(settings, field)
        for field, info in settings.model_fields.items()
        if "SecretStr" in str(info.annotation)
    }


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_sees_its_own_secrets_only(stage: str) -> None:
    """All read one file of variables; those that a stage does not know are blanked for it."""
    assert "DATABASE_ADMIN_URL" not in environment.text(), "every stage reads .env"
    every = set[str]().union(*(secrets_of(environment.STAGES[name]) for name in STAGES))
    foreign = every - secrets_of(environment.STAGES[stage]) | {"POSTGRES_PASSWORD"}
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert services[stage]["environment"] == dict.fromkeys(foreign, "")
    container = next(
        part["spec"]["template"]["spec"]["containers"][0]
        for part in manifests()
        if part["kind"] == "Deployment" and part["metadata"]["name"] == stage
    )
    assert {item["name"] for item in container["env"] if item["value"] == ""} == foreign


@pytest.mark.parametrize("stage", STAGES)
def test_kubernetes_probes_ask_the_stage_for_itself(stage: str) -> None:
    deployments = {
        part["metadata"]["name"]: part for part in manifests() if part["kind"] == "Deployment"
    }
    pod = deployments[stage]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["readinessProbe"]["grpc"]["service"] == HEALTH[stage]
    assert "service" not in container["livenessProbe"]["grpc"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["securityContext"]["runAsNonRoot"] is True
    service = next(
        part
        for part in manifests()
        if part["kind"] == "Service" and part["metadata"]["name"] == stage
    )
    assert service["spec"]["clusterIP"] == "None", "clients must see every replica"


@pytest.mark.parametrize("stage", STAGES)
def test_the_network_lets_callers_and_prometheus_in(stage: str) -> None:
    policies = [part["spec"] for part in manifests() if part["kind"] == "NetworkPolicy"]

    def chooses(selector: dict[str, Any]) -> bool:
        labels = selector.get("matchLabels", {}).get("app", stage) == stage
        return labels and all(stage in e["values"] for e in selector.get("matchExpressions", []))

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
        if part["kind"] == "Deployment" and part["metadata"]["name"] == stage
    )
    scraped = int(template["metadata"]["annotations"]["prometheus.io/port"])
    assert doors == {7400, scraped}


def test_variables_in_the_files_exist() -> None:
    for path in [DEPLOY / "Dockerfile", *(DEPLOY / "kubernetes").glob("*.yaml")]:
        used = set(re.findall(r"\b(FOLIO_[A-Z_]+|DATABASE_[A-Z_]+)\b", path.read_text()))
        assert used <= KNOWN, f"{path.name}: {sorted(used - KNOWN)}"
