"""The embedded model: all-MiniLM-L6-v2 on ONNX Runtime, without PyTorch.

Sentence embeddings for the retriever, token vectors for colbert and the generator.
"""
