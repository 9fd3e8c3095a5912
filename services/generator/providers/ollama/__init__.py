"""Ollama's own API (/api/chat), through its SDK: numbered sources, [n] markers."""
