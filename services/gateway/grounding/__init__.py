"""Decides whether an answer is proven by its quotes. Pure code: text in, verdict out."""
