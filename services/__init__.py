"""Folio's services. Nothing that they use may report to its makers: that is turned off before any of it is imported."""

import os

# ONNX Runtime for Linux looks up its makers' host and keeps a device id in the user's cache folder, from its import on.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# Of the Hugging Face hub, and of others that ask for it (consoledonottrack.com).
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["DO_NOT_TRACK"] = "1"
