"""Analyses of records: costs, comparisons, retraces and fusion verdicts. None of them starts a backend."""
