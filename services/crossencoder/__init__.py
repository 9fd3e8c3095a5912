"""Pairwise reranking: a model reads the question and a candidate together and says how well they fit."""
