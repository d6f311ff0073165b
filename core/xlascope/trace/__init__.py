"""Tracing: the current trace, tracers, staging to a jaxpr, recorded rules."""
