"""Finds the sentences of given sources that answer a question, and says how sure it is. No language model."""
