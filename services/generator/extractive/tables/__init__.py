"""Answers a question from a cell of a table: the row it names, the column it asks for, or nothing."""
