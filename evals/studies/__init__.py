"""One-off measurements of one part of the services. Run as `python -m evals.studies.NAME`."""
