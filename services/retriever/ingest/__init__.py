"""A file becomes a version: claims.py, pipeline.py, chunking.py, staging.py, and publish.py makes it visible."""
