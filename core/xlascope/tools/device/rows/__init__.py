"""The operations that a device is tested with: a table of calls with their operands, by family."""
