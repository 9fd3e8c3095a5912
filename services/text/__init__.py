"""Characters and words: tables that say which are invisible, a number, a month, a code. Pure; imports nothing of ours.

Services share what a character or a word is. What follows from it, each decides on its own: the one who checks an
answer must not be the one who wrote it.
"""
