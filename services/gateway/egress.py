"""Keeps the ledger of text that left the suite: by which provider, for what, how many bytes."""

from google.protobuf.message import Message

from folio.gateway.v1 import gateway_pb2
from services.gateway.account import Account
from services.gateway.stages import Generator, Reranker, Retriever
from services.rpc.errors import FolioError

# Capabilities are cached and local; they get this long.
LOOK_S = 1.0


class Ledger:
    """Knows which providers are ours; every other one that is sent text is written down."""

    def __init__(self, local: frozenset[str]) -> None:
        self._local = local

    async def note(
        self, account: Account, stage: Retriever | Reranker | Generator, purpose: str, sent: Message
    ) -> None:
        """Before a stage is called: writes down that its provider, if remote, gets this request."""
        try:
            capabilities = (await stage.described(LOOK_S)).capabilities
        except FolioError:
            # A stage that cannot say what it is will hardly send anything on; its own call will tell.
            return
        self.record(account, capabilities.provider, purpose, sent.ByteSize())

    def record(self, account: Account, provider: str, purpose: str, size: int) -> None:
        """Writes an entry, unless the provider is ours."""
        if provider not in self._local:
            account.egress.append(
                gateway_pb2.Egress(provider=provider, purpose=purpose, bytes_sent=size)
            )
