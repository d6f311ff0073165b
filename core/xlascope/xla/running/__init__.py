"""Compiled programs on arrays: where they run, how, and single operations."""
