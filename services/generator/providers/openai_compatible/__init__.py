"""Chat-completions servers (vLLM, TGI, llama.cpp, OpenAI) through the openai SDK: numbered sources, [n] markers."""
