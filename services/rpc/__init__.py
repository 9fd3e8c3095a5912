"""Running and calling one of our gRPC services: settings, identity, deadlines, limits, errors, servers, channels.

It knows no retrieval, no model and no store, and imports nothing from the services that stand on it.
"""
