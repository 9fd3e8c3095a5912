"""PostgreSQL for the stages that store: embedded server, pool, the one tenant transaction, start-up gates."""
