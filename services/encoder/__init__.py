"""One copy of the embedded model for the retriever, colbert and the generator: each text is read once."""
