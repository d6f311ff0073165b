"""Interface to XLA: devices, StableHLO, compilation, dispatch, profiles. With runtime/, the only user of jaxlib."""
