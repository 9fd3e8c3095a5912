"""The steps of a question, one file each: one call with a typed input and output, and one line in the report."""
