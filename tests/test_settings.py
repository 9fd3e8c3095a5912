"""What holds for the settings of all services together: they read one environment."""

import logging

import pytest
from pydantic import Field
from pydantic_settings import BaseSettings

from deploy.environment import SETTINGS, variable
from services.gateway.settings import GatewaySettings
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
