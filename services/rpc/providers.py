"""Finds the implementation of a Protocol by the name in a setting."""

import importlib
from collections.abc import Mapping
from typing import Any

from services.rpc.errors import FailedPrecondition


def load(providers: Mapping[str, str], name: str) -> Any:
    """What `providers[name]` ("module:attribute") points to, imported now.

    FailedPrecondition if the name is unknown (lists what there is) or its SDK is not installed (names it).
    """
    target = providers.get(name)
    if target is None:
        raise FailedPrecondition(
            f"there is no provider '{name}'; choose one of: {', '.join(sorted(providers))}"
        )
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or module.startswith(error.name):
            raise
        raise FailedPrecondition(
            f"provider '{name}' needs the package '{error.name}': pip install 'folio[{name.replace('_', '-')}]'"
        ) from None
