"""The transformations of programs, one interpreter a file."""
