"""Arrays: their methods, transfers to devices, key arrays, memory shared with other libraries, and failures."""
