"""The operations that a device is tried with: a table of calls with their operands, by family."""
