"""Who writes the answer: one file per provider. FOLIO_GENERATOR names one of these."""

GENERATORS = {
    "extractive": "services.generator.generators.extractive:ExtractiveGenerator",
    "anthropic": "services.generator.generators.anthropic:AnthropicGenerator",
    "openai_compatible": "services.generator.generators.openai_compatible:OpenAICompatibleGenerator",
}
