"""Claude for small tasks."""

from services.generator.answers import Usage
from services.generator.prices import Prices
from services.generator.providers import Completion
from services.generator.providers.anthropic.client import ClaudeClient
from services.generator.providers.anthropic.usage import TokenCount
from services.generator.quotes import encodable
from services.generator.settings import GeneratorSettings
from services.outbound.retries import MALFORMED
from services.rpc.deadline import Deadline
from services.rpc.errors import Aborted, FailedPrecondition, Internal


class AnthropicLlm:
    """See Llm."""

    def __init__(self, client: ClaudeClient, model: str, prices: Prices) -> None:
        self.model = model
        self._client = client
        self._prices = prices

    @classmethod
    def create(cls, settings: GeneratorSettings) -> "AnthropicLlm":
        if not settings.model:
            raise FailedPrecondition("set RAG_MODEL to the id of a Claude model")
        return cls(ClaudeClient.of(settings), settings.model, Prices.read(settings.prices))

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion:
        message = await self._client.message(
            {
                "model": self.model,
                "max_tokens": max_tokens,
                "system": system,
                "messages": [{"role": "user", "content": encodable(prompt)}],
            },
            Deadline.after(seconds),
        )
        count = TokenCount()
        count.begin()
        try:
            if message.stop_reason != "end_turn":
                raise Aborted("the model did not finish", reason="INCOMPLETE")
            text = "".join(block.text for block in message.content if block.type == "text")
            count.note(message.usage)
        except MALFORMED:
            raise Internal("the Claude API sent what is not in its documentation") from None
        total = count.total()
        usage = Usage(
            "anthropic",
            self.model,
            total.input + total.cache_write,
            total.output,
            total.cached_input,
            self._prices.cost(self.model, total),
        )
        return Completion(encodable(text), usage)
