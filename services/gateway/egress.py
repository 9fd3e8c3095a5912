"""Keeps the ledger of text that left the suite: to which provider, for what, how many bytes."""

from google.protobuf.message import Message

from folio.common.v1 import service_pb2
from services.gateway.account import Account
from services.gateway.stages import Generator, Reranker, Retriever
from services.rpc.errors import Internal


async def note(
    account: Account,
    service: Retriever | Reranker | Generator,
    purpose: "service_pb2.Purpose.ValueType",
    sent: Message,
    seconds: float,
) -> None:
    """Before a service is called: writes down that its provider for the purpose, if it is remote, gets this request."""
    first, *_ = await providers_of(service, purpose, seconds)
    record(account, first, sent.ByteSize())


async def providers_of(
    service: Retriever | Reranker | Generator,
    purpose: "service_pb2.Purpose.ValueType",
    seconds: float,
) -> list[service_pb2.Provider]:
    """Who does that, as the service says itself: who is asked first, then who is asked where that one cannot.

    Raises where the service does not say, within `seconds`: nothing is sent to somebody whom the ledger cannot name,
    and a service that cannot even say what it is would hardly have done the work in time.
    """
    told = (await service.described(seconds)).capabilities.providers
    found = [provider for provider in told if provider.purpose == purpose]
    if not found:
        raise Internal(f"{service.name} does not say who its provider is for this step")
    return found


def record(account: Account, provider: service_pb2.Provider, size: int) -> None:
    """Writes an entry, unless the provider works inside the suite."""
    if not provider.local:
        entry = service_pb2.Egress(
            provider=provider.provider, purpose=provider.purpose, bytes_sent=size
        )
        account.egress.append(entry)
