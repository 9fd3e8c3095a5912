"""PDF: pages of text, where a quote stands on them, and pages as pictures. Runs in worker processes only."""
