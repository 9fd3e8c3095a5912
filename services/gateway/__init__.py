"""The public API: who calls, the pipeline of a question, the check of an answer. It alone calls the other services."""
