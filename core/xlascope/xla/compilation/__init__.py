"""Compilation from a request to a loaded executable, and its records."""
