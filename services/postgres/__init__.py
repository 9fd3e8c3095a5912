"""PostgreSQL for the services that store.

The schema and its owner's commands, the embedded server, the pool, the one tenant transaction, the gates at start.
"""
