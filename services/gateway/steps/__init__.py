"""The steps of a question, one file each: one call of a stage, typed input and output, a report in the account."""
