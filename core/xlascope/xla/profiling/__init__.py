"""Profiler windows and traces, and the measured peak rates of devices."""
