"""What every provider says of itself, and how the one that a setting names is found."""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from folio.common.v1 import service_pb2
from services.rpc.errors import FailedPrecondition


class Worker(Protocol):
    """Who does the work of one purpose: a provider of a model or an API, behind one of our Protocols.

    All of those begin with these three. A class says that it keeps one by the type that its `create` returns.
    """

    provider: str
    model: str
    # The work is done inside the suite. False: text is sent to a server, whoever runs it, and the ledger says so.
    local: bool


def entry(
    purpose: "service_pb2.Purpose.ValueType", worker: Worker, revision: str = ""
) -> service_pb2.Provider:
    """A worker as a service's Capabilities tell of it."""
    return service_pb2.Provider(
        purpose=purpose,
        provider=worker.provider,
        model=worker.model,
        revision=revision,
        local=worker.local,
    )


def load(providers: Mapping[str, str], name: str, variable: str = "") -> Any:
    """What `providers[name]` ("module:attribute") points to, imported now; `variable` is where `name` comes from.

    FailedPrecondition if the name is unknown (lists what there is) or its SDK is not installed (names it).
    """
    target = providers.get(name)
    if target is None:
        where = f"{variable}: " if variable else ""
        raise FailedPrecondition(
            f"{where}there is no provider '{name}'; choose one of: {', '.join(sorted(providers))}"
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
