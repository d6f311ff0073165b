"""The boot of jaxlib: what it keeps per process, set once, in the one order that does not crash it."""
