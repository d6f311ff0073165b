"""The compiler's plan of memory: which arrays it keeps a place for, and how long each is needed."""
