"""Programs while they run: counted, sampled through short profiler windows, measured one by one or by turns."""
