"""One HTML page of a summary, without anything to fetch."""
