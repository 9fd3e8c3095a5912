"""The operator's rules of who may search the web.

rules:
  - organization_id: 1                 # any question of organization 1
  - organization_id: 2
    collections: [public]              # only questions that are restricted to these collections
"""

from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.rpc.errors import FailedPrecondition


class WebRule(BaseModel):
    """One permission. Without collections it holds for every question of the organization."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    organization_id: int = Field(gt=0, strict=True)
    collections: frozenset[str] | None = None


class WebRules(BaseModel):
    """All permissions. What no rule allows is forbidden."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: tuple[WebRule, ...] = ()

    @classmethod
    def load(cls, path: Path | None) -> "WebRules":
        """The rules of a file; none without a file. FailedPrecondition if it cannot be read as rules."""
        if path is None:
            return cls()
        try:
            return cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError):
            raise FailedPrecondition(
                "FOLIO_WEB_RULES must be a YAML file: rules: [{organization_id: 1, collections: [public]}]"
            ) from None

    def allow(self, organization_id: int, collections: Sequence[str]) -> bool:
        """Whether a question of this organization, restricted to these collections, may go to the web."""
        return any(
            rule.organization_id == organization_id
            and (
                rule.collections is None
                or (bool(collections) and set(collections) <= rule.collections)
            )
            for rule in self.rules
        )
