"""Arrays: their methods, how values become arrays, keys, memory shared with others, and what fails."""
