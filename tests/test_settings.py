"""What holds for the settings of all services together: they read one environment."""

import logging

import pytest
from pydantic import Field
from pydantic_settings import BaseSettings

from deploy.environment import SETTINGS, variable
from services.gateway.settings import GatewaySettings
from services.generator.settings import GeneratorSettings
from services.rpc.errors import FailedPrecondition
from services.rpc.settings import ServerSettings, renamed

SECRET = "the-secret-of-the-settings-under-test"


class Renamed(ServerSettings):
    """A service with a setting that had another name, and one whose type is not a word."""

    reads: int = Field(10, ge=1, validation_alias=renamed("FOLIO_READS", former="FOLIO_LOOKS"))
    kinds: frozenset[str] = Field(
        frozenset(), validation_alias=renamed("FOLIO_KINDS", former="FOLIO_SORTS")
    )


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIO_INTERNAL_SECRET", SECRET)


def test_every_variable_means_one_thing() -> None:
    """A deployment gives all services the same file of variables."""
    shared = set(ServerSettings.model_fields)
    meaning: dict[str, tuple[object, ...]] = {}
    for settings in SETTINGS.values():
        for field, info in settings.model_fields.items():
            assert info.description, f"{settings.__name__}.{field}"
            # What every service has may have another default, and a word about it, in one of them.
            says = (field, info.annotation, *([] if field in shared else [info.description]))
            if settings.__name__ == "AdminSettings":
                continue
            name = variable(settings, field)
            assert meaning.setdefault(name, says) == says, f"{name} in {settings.__name__}"


def test_a_former_name_works_and_says_the_new_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FOLIO_LOOKS", "7")
    monkeypatch.setenv("FOLIO_SORTS", '["a", "b"]')
    with caplog.at_level(logging.WARNING):
        settings = Renamed.load()
    assert (settings.reads, settings.kinds) == (7, frozenset({"a", "b"}))
    assert "FOLIO_LOOKS is now called FOLIO_READS" in caplog.text
    assert "FOLIO_SORTS is now called FOLIO_KINDS" in caplog.text
    assert '"FOLIO_READS": 7' in settings.describe()


def test_the_new_name_is_quiet(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FOLIO_READS", "7")
    monkeypatch.setenv("FOLIO_LOOKS", "")
    assert Renamed.load().reads == 7
    assert not caplog.records


def test_two_names_must_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIO_READS", "7")
    monkeypatch.setenv("FOLIO_LOOKS", "7")
    assert Renamed.load().reads == 7
    monkeypatch.setenv("FOLIO_LOOKS", "8")
    with pytest.raises(FailedPrecondition, match="FOLIO_LOOKS is now called FOLIO_READS"):
        Renamed.load()


@pytest.mark.parametrize("name", ["FOLIO_READS", "FOLIO_LOOKS"])
def test_a_wrong_value_is_named_as_it_was_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "0")
    with pytest.raises(FailedPrecondition, match=r"FOLIO_(READS|LOOKS): Input should be greater"):
        Renamed.load()


def test_no_service_cuts_the_longest_question_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway gives a question FOLIO_ASK_SECONDS; the services that it calls must allow as much."""
    longest = 600.0
    monkeypatch.setenv("FOLIO_ASK_SECONDS", str(longest))
    assert GatewaySettings.load().ask_seconds == longest
    monkeypatch.setenv("FOLIO_ASK_SECONDS", str(longest + 1))
    with pytest.raises(FailedPrecondition, match="FOLIO_ASK_SECONDS"):
        GatewaySettings.load()
    services: list[type[BaseSettings]] = list(SETTINGS.values())
    for settings in services:
        if issubclass(settings, ServerSettings):
            assert settings.model_fields["max_call_seconds"].default >= longest


def test_a_bound_of_all_calls_below_that_of_questions_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOLIO_ASK_SECONDS", "300")
    monkeypatch.setenv("FOLIO_MAX_CALL_SECONDS", "120")
    with pytest.raises(FailedPrecondition, match="FOLIO_MAX_CALL_SECONDS would cut FOLIO_ASK"):
        GatewaySettings.load()


def test_a_field_that_is_called_as_another_service_s_variable_does_not_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOLIO_JUDGE", "alignment")
    assert GatewaySettings.load().judge is False
    assert GeneratorSettings.load().judge == "alignment"
    monkeypatch.setenv("FOLIO_JUDGE_ANSWERS", "true")
    assert GatewaySettings.load().judge is True


def test_only_the_names_of_the_example_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """FOLIO_MODEL would mean three models, one in each service that calls its field so."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://host/database")
    monkeypatch.setenv("RERANKER_URL", "http://host")
    services = [one for one in SETTINGS.values() if issubclass(one, ServerSettings)]
    before = [settings.load() for settings in services]
    documented = {
        variable(settings, field) for settings in services for field in settings.model_fields
    }
    for settings in services:
        for field in settings.model_fields:
            if f"FOLIO_{field.upper()}" not in documented:
                monkeypatch.setenv(f"FOLIO_{field.upper()}", "7")
    assert [settings() for settings in services] == before


@pytest.mark.parametrize(
    ("former", "value", "told"),
    [
        ("FOLIO_PARENTS", "false", "FOLIO_PARENTS is now called FOLIO_PASSAGES"),
        ("FOLIO_COLBERT_CANDIDATES", "40", "is now called FOLIO_RERANK_CANDIDATES"),
        ("FOLIO_CROSSENCODER_CANDIDATES", "7", "is now called FOLIO_READ_CANDIDATES"),
        ("FOLIO_TRACE_TEXT", "false", "FOLIO_TRACE_TEXT is no longer a setting"),
        ("FOLIO_LOCAL_PROVIDERS", '["tei"]', "FOLIO_LOCAL_PROVIDERS is no longer a setting"),
    ],
)
def test_a_variable_that_is_gone_is_told_of(
    former: str,
    value: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(former, value)
    GatewaySettings.load()
    assert told in caplog.text


@pytest.mark.parametrize("value", ["true", "1", "On"])
def test_the_judge_s_former_switch_is_refused_and_not_left_off(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLIO_JUDGE", value)
    with pytest.raises(FailedPrecondition, match="set FOLIO_JUDGE_ANSWERS"):
        GatewaySettings.load()
    monkeypatch.setenv("FOLIO_JUDGE", "false")
    assert GatewaySettings.load().judge is False


def test_a_prefix_that_a_variable_does_not_have_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIO_RAG_ANSWER_THRESHOLD", "0.3")
    with pytest.raises(FailedPrecondition, match="did you mean RAG_ANSWER_THRESHOLD"):
        GatewaySettings.load()
