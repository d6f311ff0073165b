"""From a jaxpr to a StableHLO module."""
