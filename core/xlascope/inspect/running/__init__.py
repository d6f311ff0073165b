"""Measurement of programs while they run: call counts, sampled profiler windows, and interleaved timing."""
