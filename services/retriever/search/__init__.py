"""Hybrid search: chunks by meaning and by words, fused; and the passages around them that are read."""
