"""One JSON file per model: see services/gateway/calibration.py for the fields."""
