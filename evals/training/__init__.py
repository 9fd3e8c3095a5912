"""What makes the weights and calibrations that the services ship. Run as `python -m evals.training.NAME`."""
