"""Joining of the records of a job's processes: clocks, shared programs, stragglers, differences."""
