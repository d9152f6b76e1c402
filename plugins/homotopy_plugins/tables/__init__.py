"""Columns as people have them, as numbers, dates and words: for `audit` and the command line."""
