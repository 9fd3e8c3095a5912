"""What tokens cost, from a file that the operator keeps: no price is built in, and none is guessed.

claude-x-1:            # dollars per million tokens
  input: 3
  output: 15
  cached_input: 0.3    # read from the cache
  cache_write: 3.75
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from services.rpc.errors import FailedPrecondition

KINDS = ("input", "output", "cached_input", "cache_write")


@dataclass(frozen=True)
class Tokens:
    """What one call used, by what it costs. `input` is neither read from nor written to the cache."""

    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write: int = 0


@dataclass(frozen=True)
class Prices:
    """Dollars per million tokens, by model and kind."""

    by_model: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, path: Path | None) -> "Prices":
        """FailedPrecondition where the file is not what it should be."""
        if path is None:
            return cls({})
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except (OSError, yaml.YAMLError):
            raise FailedPrecondition("FOLIO_PRICES: the file cannot be read as YAML") from None
        if not isinstance(data, dict) or not all(_is_price(price) for price in data.values()):
            raise FailedPrecondition(
                f"FOLIO_PRICES: expected, by model, numbers of dollars for: {', '.join(KINDS)}"
            )
        return cls({str(model): price for model, price in data.items()})

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """Dollars; None unless every kind of token that was used has a price."""
        price = self.by_model.get(model)
        if price is None:
            return None
        total = 0.0
        for kind in KINDS:
            count: int = getattr(tokens, kind)
            if count and kind not in price:
                return None
            total += count * price.get(kind, 0.0) / 1_000_000
        return total


def _is_price(price: object) -> bool:
    return isinstance(price, dict) and all(
        kind in KINDS and isinstance(value, int | float) and value >= 0
        for kind, value in price.items()
    )
