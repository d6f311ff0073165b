"""What the profiler records, and what a device can do at most."""
