"""The service that stores: documents, their pages and chunks, and the search over them."""
