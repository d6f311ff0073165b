"""Account of a thread's time: what it did between two moments, in parts that exclude each other."""
