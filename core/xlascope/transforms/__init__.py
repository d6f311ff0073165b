"""Transformations of programs, one interpreter per file."""
