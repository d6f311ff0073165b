"""Comparison of two programs: two calls, or one call before and after a change."""
