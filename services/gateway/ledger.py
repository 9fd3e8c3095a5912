"""Keeps the ledger of text that left the suite: to which provider, for what, how many bytes."""

from google.protobuf.message import Message

from folio.common.v1 import service_pb2
from services.gateway.clients import AnyClient
from services.rpc.errors import Internal


class Ledger:
    """The entries of one request."""

    def __init__(self) -> None:
        self.entries: list[service_pb2.Egress] = []

    async def note(
        self,
        client: AnyClient,
        purpose: "service_pb2.Purpose.ValueType",
        sent: Message,
        seconds: float,
    ) -> None:
        """Before a service is called: writes down that its provider, if it is remote, gets this request."""
        first, *_ = await providers_of(client, purpose, seconds)
        self.record(first, sent.ByteSize())

    def record(self, provider: service_pb2.Provider, size: int) -> None:
        """Writes an entry, unless the provider works inside the suite."""
        if not provider.local:
            self.entries.append(
                service_pb2.Egress(
                    provider=provider.provider, purpose=provider.purpose, bytes_sent=size
                )
            )


async def providers_of(
    client: AnyClient, purpose: "service_pb2.Purpose.ValueType", seconds: float
) -> list[service_pb2.Provider]:
    """Who does that, as the service says itself: who is asked first, then who is asked where that one cannot.

    Raises where the service does not say, within `seconds`: nothing is sent to somebody whom the ledger cannot name,
    and a service that cannot even say what it is would hardly have done the work in time.
    """
    told = (await client.about(seconds)).capabilities.providers
    found = [provider for provider in told if provider.purpose == purpose]
    if not found:
        raise Internal(f"{client.name} does not say who its provider is for this step")
    return found
