"""Lowering of a jaxpr to a StableHLO module."""
