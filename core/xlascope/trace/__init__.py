"""The current trace, the tracer, staging to a jaxpr."""
