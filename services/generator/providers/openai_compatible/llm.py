"""A chat server for small tasks."""

from services.generator.answers import Usage
from services.generator.prices import Prices, Tokens
from services.generator.providers import Completion
from services.generator.providers.openai_compatible.client import ChatClient
from services.generator.providers.openai_compatible.generator import tokens_of
from services.generator.quotes import encodable
from services.generator.settings import GeneratorSettings
from services.outbound.retries import MALFORMED
from services.rpc.deadline import Deadline
from services.rpc.errors import Aborted, FailedPrecondition, Internal


class OpenAICompatibleLlm:
    """See Llm."""

    def __init__(self, client: ChatClient, model: str, prices: Prices) -> None:
        self.model = model
        self._client = client
        self._prices = prices

    @classmethod
    def create(cls, settings: GeneratorSettings) -> "OpenAICompatibleLlm":
        if not settings.model:
            raise FailedPrecondition("set RAG_MODEL to the id of a model of the server")
        return cls(ChatClient.of(settings), settings.model, Prices.read(settings.prices))

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion:
        done = await self._client.completion(
            {
                "model": self.model,
                "max_tokens": max_tokens,
                "temperature": 0,
                "messages": [
                    {"role": "system", "content": system},
                    {"role": "user", "content": encodable(prompt)},
                ],
            },
            Deadline.after(seconds),
        )
        try:
            choice = done.choices[0] if done.choices else None
            if choice is None or choice.finish_reason != "stop" or not choice.message.content:
                raise Aborted("the model did not finish", reason="INCOMPLETE")
            text = encodable(choice.message.content)
            tokens = tokens_of(done.usage) if done.usage else Tokens()
        except MALFORMED:
            raise Internal("the model server sent what is not a chat completion") from None
        usage = Usage(
            "openai_compatible",
            self.model,
            tokens.input,
            tokens.output,
            tokens.cached_input,
            self._prices.cost(self.model, tokens),
        )
        return Completion(text, usage)
